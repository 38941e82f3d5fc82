"""Modules of the published package that are imported by name: they have what their room has."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def publish(room: str, *modules: str, **with_own: Mapping[str, Any]) -> None:
    """Let modules of a room be imported that are no files: `import stable_nalu.functional.gumbel`.

    Their names are separated by spaces. `with_own` names those that hold values of their own, too.
    """
    home = sys.modules[room]
    for name in (*" ".join(modules).split(), *with_own):
        module = ModuleType(f"{room}.{name}", f"A module of the published package; see {room}.")
        vars(module).update(with_own.get(name, {}))
        vars(module)["__getattr__"] = lambda attribute: getattr(home, attribute)
        sys.modules[module.__name__] = module
        if name not in vars(home):
            setattr(home, name, module)
