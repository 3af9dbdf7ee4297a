"""The bundled data sets and the scripts that wrote them."""
