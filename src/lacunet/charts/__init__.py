"""What charts show and how they look, on the page and in figures."""
