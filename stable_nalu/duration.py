"""Seconds in words."""

_UNITS = ((86400 * 365, "years"), (86400, "days"), (3600, "h"), (60, "min"))


def duration(seconds: float) -> str:
    """Such as `3 h`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
