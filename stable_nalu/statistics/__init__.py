"""Statistics of finished runs: judge (one row per run), then summarise (one row per point).

`setups` says when a run is solved, by the tables that `thresholds` computes; `table` applies it to
logged rows; `summary` turns runs into success rate, solved-at and sparsity error with 95 %
intervals. Nothing here reads event files or draws.
"""
