"""What every room stands on: errors, files, the machine, the command line, names of papers."""

import sys
from collections.abc import Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _PublishedModules(MetaPathFinder, Loader):
    """Finds modules of the published package that are no files: they have what their room has."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.known else None

    def made(self, fullname: str) -> ModuleType:
        module = sys.modules[fullname] = ModuleType(fullname)
        self.exec_module(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        room, own = self.known[module.__name__]
        vars(module).update(own)
        vars(module)["__getattr__"] = lambda name: getattr(sys.modules[room], name)


_PUBLISHED = _PublishedModules()
sys.meta_path.append(_PUBLISHED)


class Room(ModuleType):
    """A module whose names stay when modules of the same names are imported below it."""

    def __getattr__(self, name: str) -> Any:
        if (path := f"{self.__name__}.{name}") in _PUBLISHED.known:
            return sys.modules.get(path) or _PUBLISHED.made(path)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in vars(self)):
            super().__setattr__(name, value)


def publish(room: str, *modules: str, **with_own: Mapping[str, Any]) -> None:
    """Let modules be imported from a room that are no files: `stable_nalu.functional.gumbel`.

    Their names are separated by blanks. `with_own` names those that hold values of their own, too.
    """
    home = sys.modules[room]
    vars(home).setdefault("__path__", [])
    if not isinstance(home, Room):
        home.__class__ = Room
    for name in (*" ".join(modules).split(), *with_own):
        _PUBLISHED.known[f"{room}.{name}"] = room, with_own.get(name, {})
