"""Errors below which a run counts as solved, computed: closed forms, else seeded simulation.

A threshold is the error of a network that is almost right: every weight is epsilon away from the
solution. `tables` lists the rows of the shipped files.
"""

FLAT = 1e-5
"""The threshold of single modules outside of the first benchmark, and of tasks without a row."""

BENCHMARK = "benchmark"
"""The parameter of rows for runs of the script `single_layer_benchmark` alone."""
