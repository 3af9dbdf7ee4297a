"""How sharp a maximum is: coordinates, the negative Hessian, standard errors."""
