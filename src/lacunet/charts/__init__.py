"""What charts show and how they look, whoever draws them: the report by hand, plots and paper."""
