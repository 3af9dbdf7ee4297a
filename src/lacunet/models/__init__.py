"""Networks as values: variables, graph, flat layout, prior, parameters, files, sampling."""
