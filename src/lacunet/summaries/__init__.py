"""Summaries of a fit.

- Parameters: `profiles`, `intervals` (standard errors), `bootstrap`, `matching` of labels.
- Model fit: `statistics`, `residuals`, `predictive_checks`, `ratio_tests`, `em_traces`.
- Covariates and outcomes: `regression` in one step; `first_step`, `three_steps` and `outcomes` in
  three; `coefficients` and `identification` check and print estimates of both.
"""
