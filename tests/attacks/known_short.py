"""Attacks that the code falls short of so far: name -> item of the list of faults, and cause.

Each is a strict xfail: whoever mends the cause takes the names out.
"""

_SHORT: dict[str, tuple[str, ...]] = {
    "1: a link in a circle raises RuntimeError, of Path.resolve (files.atomic_path)": (
        "summarize: a link in a circle",
        "summarize by run: a link in a circle",
        "export: a link in a circle",
        "thresholds: a link in a circle",
        "solutions: a link in a circle",
    ),
    "3: a picture of the user's beside the page is replaced (reproduction.page)": (
        "a page over a file of the user's: headline.svg",
    ),
    "3: a page is made of a folder that is not there (reproduction.page)": ("a page of nothing",),
    "4: two outputs may be one file, or an output an event file": (
        "both tables into one file",
        "an export over an event file",
    ),
    "9: a size beyond 64 bits is a TypeError (memory_errors_as_usage_errors)": (
        "an output beyond all numbers",
    ),
    "9: tracebacks of the sweep over inputs (arithmetic.prediction_sweep)": (
        "sweeping over a model that is a list",
        "a sweep beyond memory",
    ),
    "9: seeds behind a flag are not understood (batch.arguments)": ("seeds behind a flag",),
    "10: negative or reversed bounds of a ramp": ("beta that ends below its start",),
    "10: --cuda true without a GPU trains on the CPU": ("a gpu where there is none",),
    "10: two ways to name seeds at once, or no key at all": (
        "batch: seeds twice over",
        "reproduce: nothing for a key",
    ),
}

KNOWN_SHORT = {name: reason for reason, names in _SHORT.items() for name in names}
