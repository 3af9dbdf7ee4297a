"""(r): the search for graphs, beside pyAgrum's and pgmpy's."""
