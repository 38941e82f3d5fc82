"""The training scripts, a module for each: its flags are `SCRIPT`, and it trains `TASK`.

`table` lists them all.
"""

import copyreg

from stable_nalu.options import ScriptSpec


def script_of(name: str) -> ScriptSpec:
    """Return the description of a script."""
    from .table import SCRIPTS

    return SCRIPTS[name]


# Other processes get the name of a script, as its checks and forms are functions.
copyreg.pickle(ScriptSpec, lambda spec: (script_of, (spec.name,)))
