"""What a class computes by, besides its own text: what its code reads where it was defined.

Closure cells, defaults, class attributes, globals and base classes count. What installed packages
define counts by its name. What cannot be compared from one program to the next is refused.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np
import torch

from stable_nalu.layer.python_state import closure_of, reads_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_OF_EVERY_CLASS = frozenset(
    ("__module__", "__qualname__", "__doc__", "__annotations__", "__parameters__")
    + ("__firstlineno__", "__static_attributes__", "__annotate_func__", "__orig_bases__")
)
_ABSENT = object()


class UnknownStateError(Exception):
    """A value that cannot be compared from one program to the next."""


def text_of(layer: type) -> str:
    """Return the text of a class, or of its methods if the text that is found is another's."""
    methods = [m for m in vars(layer).values() if inspect.isfunction(m)]
    try:
        lines, first = inspect.getsourcelines(layer)
        file = inspect.getsourcefile(layer)
    except (OSError, TypeError):  # of a notebook, which keeps the text of methods alone
        lines, first, file = [], 0, None
    at = [m.__code__.co_firstlineno for m in methods if m.__code__.co_filename == file]
    if lines and at and all(first <= line < first + len(lines) for line in at):
        return "".join(lines)
    return "\n".join(map(_source, methods))


def state_of(layer: type) -> str:
    """Return what a class computes by besides its text: nothing, for most classes.

    Raise UnknownStateError for a value that cannot be compared.
    """
    found = list(_Reader(layer).of_class(layer, text_of(layer)))
    return "\n".join([layer.__qualname__, *found]) if found else ""


class _Reader:
    """Describes what code reads; each function, class and object once."""

    def __init__(self, layer: type):
        self.package = layer.__module__.partition(".")[0]
        self.known: dict[int, object] = {}

    def of_class(self, kind: type, text: str) -> Iterator[str]:
        """Yield what tells a class from others of the same text."""
        self.known[id(kind)] = kind
        written = _Written(text)
        for place, base in enumerate(kind.__bases__):
            usual = written.bases[place : place + 1] == [base.__name__]
            if not (usual and self._is_of_library(base)) and base is not object:
                yield self._named("base", base)
        for name, value in vars(kind).items():
            functions = _functions(value)
            for function in functions:
                if not self._is_of_library(function):
                    if not (_source(function) and _source(function) in text):
                        yield f"{name}: {_source(function) or _code(function.__code__)}"
                    yield from self.of_function(function, written)
            ours = name in _OF_EVERY_CLASS or written.says(name, value)
            if not (functions or ours or isinstance(value, _DESCRIPTORS)):
                yield self._named(name, value)

    def of_function(self, function: FunctionType, written: _Written | None = None) -> Iterator[str]:
        """Yield defaults, closure cells and globals that a function reads."""
        for name, value in _defaults(function).items():
            if written is None or not written.says(f"{function.__name__}.{name}", value):
                yield self._named(f"the default of {name}", value)
        read = {name: _content(cell) for name, cell in closure_of(function).items()}
        names = reads_of(function.__code__)
        for name in sorted(names.global_names):
            value = function.__globals__.get(name, _ABSENT)
            if isinstance(value, ModuleType):
                if not self._is_of_library(value):
                    parts = sorted(names.names & set(vars(value)))
                    read |= {f"{name}.{part}": vars(value)[part] for part in parts}
            elif not (self._is_of_library(value) and getattr(value, "__name__", None) == name):
                read[name] = value
        for name, value in read.items():
            if value is not _ABSENT and id(value) not in self.known:
                yield self._named(name, value)

    def _named(self, name: str, value: object) -> str:
        try:
            return f"{name} = {self.text(value)}"
        except UnknownStateError as error:
            said = str(error)
            raise UnknownStateError(said if "," in said else f"{name}, {said}") from None

    def text(self, value: Any) -> str:
        """Return a text that is equal for equal values, in other programs, too."""
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r}"
        if id(value) in self.known:
            return f"known {list(self.known).index(id(value))}"
        self.known[id(value)] = value  # which keeps its id from being used again
        if isinstance(value, torch.Tensor | np.ndarray | np.generic):
            return _numbers(value)
        if type(value) is dict:
            return f"{{{', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in value.items())}}}"
        if type(value) in (list, tuple):
            return f"{type(value).__name__}({', '.join(map(self.text, value))})"
        if type(value) in (set, frozenset):
            return f"{type(value).__name__}({', '.join(sorted(map(self.text, value)))})"
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, type | FunctionType):
            return self._code(value)
        return self._object(value)

    def _code(self, value: type | FunctionType) -> str:
        if self._is_of_library(value):
            return f"{value.__module__}.{value.__qualname__}"
        if isinstance(value, type):
            text = text_of(value)
            return "\n".join((value.__qualname__, text, *self.of_class(value, text)))
        text = _source(value) or _code(value.__code__)
        return "\n".join((text, *self.of_function(value)))

    def _object(self, value: object) -> str:
        """Return what pickle would write of an object, whose class may be of a program."""
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        try:
            parts = value.__reduce_ex__(2)
        except Exception:
            raise UnknownStateError(f"an object of {kind}") from None
        if isinstance(parts, str):
            return f"{getattr(value, '__module__', kind)}.{parts}"
        return f"{kind} {[self.text(list(p) if isinstance(p, Iterator) else p) for p in parts]}"

    def _is_of_library(self, value: Any) -> bool:
        """Return whether an installed package, or Python, defines a function, class or module."""
        names = getattr(value, "__globals__", {"__name__": getattr(value, "__module__", None)})
        name = value.__name__ if isinstance(value, ModuleType) else names.get("__name__")
        if not isinstance(value, type | FunctionType | ModuleType) and not callable(value):
            return False
        top = str(name or "builtins").partition(".")[0]
        if top in (self.package, "__main__"):
            return False
        file = getattr(sys.modules.get(top), "__file__", None)
        places = () if file is None else Path(file).parts
        known = top in sys.stdlib_module_names or top in ("builtins", "stable_nalu")
        return known or bool({"site-packages", "dist-packages"} & set(places))


_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)


class _Written:
    """What the text of a class says literally: names of bases, class attributes and defaults."""

    def __init__(self, text: str):
        self.bases: list[str] = []
        self.values: dict[str, object] = {}
        try:
            body: list[Any] = ast.parse(textwrap.dedent(text)).body
        except (SyntaxError, ValueError):
            return
        if len(body) == 1 and isinstance(body[0], ast.ClassDef):
            self.bases = [ast.unparse(base).rpartition(".")[2] for base in body[0].bases]
            body = body[0].body
        for part in body:
            if isinstance(part, ast.FunctionDef):
                self._read_defaults(part)
            elif isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
                names = part.targets if isinstance(part, ast.Assign) else [part.target]
                for name in names:
                    self._keep(ast.unparse(name), part.value)

    def _read_defaults(self, function: ast.FunctionDef) -> None:
        own = function.args
        placed = [*own.posonlyargs, *own.args]
        pairs = [*zip(reversed(placed), reversed(own.defaults), strict=False)]
        for argument, node in [*pairs, *zip(own.kwonlyargs, own.kw_defaults, strict=True)]:
            if node is not None:
                self._keep(f"{function.name}.{argument.arg}", node)

    def _keep(self, name: str, node: ast.expr) -> None:
        try:
            self.values[name] = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            self.values.pop(name, None)

    def says(self, name: str, value: object) -> bool:
        """Return whether a name has, literally, this value."""
        return name in self.values and repr(self.values[name]) == repr(value)


def _functions(value: object) -> list[FunctionType]:
    """Return the functions of an attribute of a class, and those that they wrap."""
    if isinstance(value, property):
        parts: list[object] = [value.fget, value.fset, value.fdel]
    elif isinstance(value, staticmethod | classmethod):
        parts = [value.__func__]
    else:
        parts = [value.func if isinstance(value, functools.cached_property) else value]
    found: list[FunctionType] = []
    for part in parts:
        while part is not None:
            found += [part] if isinstance(part, FunctionType) else []
            part = getattr(part, "__wrapped__", None)
    return found


def _defaults(function: FunctionType) -> Mapping[str, object]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    placed = dict(zip(names[len(names) - len(values) :], values, strict=True))
    return placed | (function.__kwdefaults__ or {})


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _ABSENT


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into an interpreter that keeps no text
        return ""


def _code(code: CodeType) -> str:
    parts = [_code(p) if isinstance(p, CodeType) else repr(p) for p in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {parts}"


def _numbers(value: Any) -> str:
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    if array.dtype.hasobject:
        raise UnknownStateError("an array of objects")
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{type(value).__name__} {array.dtype} {array.shape} {digest}"
