"""Generators of samples: (generator, range, size) -> (x, t).

A dataset owns its random generators; numpy's global one is never touched, and nothing is loaded or
drawn at import.
"""
