"""Errors below which a run counts as solved, computed: closed forms, else seeded simulation.

A threshold is the error of a network that is almost right: every weight is epsilon away from the
solution. `tables` lists the rows of the shipped files.
"""
