"""Attacks that the code falls short of so far: name -> item of the list of faults, and cause.

Each is a strict xfail: whoever mends the cause takes the names out.
"""

_SHORT: dict[str, tuple[str, ...]] = {
    "3: a picture of the user's beside the page is replaced (reproduction.page)": (
        "a page over a file of the user's: headline.svg",
    ),
    "5: a state does not hold whose it is (training.plan.runs)": (
        "continuing a log: that of another seed",
        "continuing a log: text",
    ),
    "5: a position within an event cuts the log there (writer.run_folder)": (
        "--resume: a state with a position within an event",
        "--load-checkpoint: a state with a position within an event",
    ),
    "9: under --resume, messages name --load-checkpoint (training.plan.runs)": (
        "a log that is gone, under --resume, names --resume",
    ),
}

KNOWN_SHORT = {name: reason for reason, names in _SHORT.items() for name in names}
