"""Attacks that the code falls short of so far: name -> item of the list of faults, and cause.

Each is a strict xfail: whoever mends the cause takes the names out.
"""

_SHORT: dict[str, tuple[str, ...]] = {}

KNOWN_SHORT = {name: reason for reason, names in _SHORT.items() for name in names}
