"""Plans: rows as components of hidden variables, merged and counted, with the E steps over them.

Start with `plan`, which has the contracts `EStep` and `CompletionSampler`, and `builder`, which
chooses plans. `decompose` finds the components of rows. Components with one hidden variable become
sums of `patterns`, with `numbers` and `joint_numbers` for numeric columns. Other components become
`trees`, built by `clique_trees`. `pattern_covariance` has second moments for the Hessian. `parted`
places rows in memory, on disk, on workers or on a device.
"""
