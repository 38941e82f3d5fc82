"""Attacks that the code falls short of so far: name -> item of the list of faults, and cause.

Each is a strict xfail. Whoever mends one takes its line out.
"""

KNOWN_SHORT: dict[str, str] = {}
