"""Statistics of finished runs: judge (one row per run), then summarise (one row per point).

`judge` applies the success criterion to logged rows, `summary` turns runs into success rate,
solved-at and sparsity error with 95 % intervals, `thresholds` computes the errors below which a run
counts as solved. Nothing here reads event files or draws. pandas is imported by the modules that
hold tables, not by the package.
"""
