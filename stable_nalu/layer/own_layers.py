"""Layers that are not of this package: from a file, from an installed package, from a program.

One may be any torch module that maps (batch, in) to (batch, out), written as anyone writes one: its
constructor draws its initial parameters, and its forward pass has no run dimensions.
`torch.func.vmap` trains many runs of it as one.
"""

import copy
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, NamedTuple

import torch
from torch.func import functional_call, vmap

from stable_nalu.abstract import ExtendedTorchModule, Observation, Term, weight_observations
from stable_nalu.base.errors import CONTROL, STOPS, OptionError, UsageError, in_words, is_text
from stable_nalu.base.files import installed_layers
from stable_nalu.base.papers import Paper
from stable_nalu.layer import registry

from .base import OF_EVERY_LAYER, PENALTIES, Cell, Layer, OutputShapeError
from .user_code import ClassState


class PlainLayer(Layer):
    """Holds a module of the class `Module`, built from its sizes and its own options.

    Shapes: x (*runs, batch, in), y (*runs, batch, out), at most one run dimension, which comes
    first in the module's parameters if runs are stacked.
    """

    Module: ClassVar[type[torch.nn.Module]]

    default_name = "plain"

    def set_options(self, options: dict[str, Any]) -> None:
        self._build = partial(self.Module, self.in_features, self.out_features, **options)

    def make_parameters(self) -> None:
        self.module = self._build()
        self._ndim = next((p.ndim for p in self.module.parameters()), 0)

    def reset_parameters(self) -> None:
        """Take over the parameters of a module that is built again: its constructor draws them."""
        self.module.load_state_dict(self._build().state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.ndim < 3:
            return self.module(x)

        def one_run(parameters, buffers, x):
            return functional_call(self.module, (parameters, buffers), (x,))

        state = dict(self.module.named_parameters()), dict(self.module.named_buffers())
        return vmap(one_run)(*state, x)

    def observations(self) -> list[Observation]:
        """Observe the sparsity error, by the module's own method or else of its weight matrix."""
        if callable(getattr(self.module, "sparsity_error", None)):
            return [Observation("scalar", "W/sparsity_error", self._sparsity_error, False)]
        own = dict(self.module.named_parameters(recurse=False))
        matrices = [name for name in ("W", "weight") if name in own and own[name].ndim >= 2]
        if not matrices:
            return []
        return weight_observations("W", lambda: getattr(self.module, matrices[0]))

    @torch.no_grad()
    def _sparsity_error(self) -> torch.Tensor:
        method = _SparsityError(self.module)
        like = next(self.module.parameters(), torch.empty(()))
        if like.ndim == self._ndim:
            return torch.as_tensor(method(), dtype=like.dtype)
        state = method.state_dict()
        runs = [{name: value[run] for name, value in state.items()} for run in range(len(like))]
        made = [torch.as_tensor(functional_call(method, one, ()), dtype=like.dtype) for one in runs]
        return torch.stack(made)


class ProtocolLayer(PlainLayer):
    """Holds a module over `ExtendedTorchModule`, whose penalties and bounds are its own methods."""

    obstacle = "penalties and bounds of a module over ExtendedTorchModule are those of one run"

    def make_parameters(self) -> None:
        super().make_parameters()
        self._keys: Collection[str] = PENALTIES
        # A penalty on inputs needs some first: it may be any.
        with suppress(Exception):
            self._keys = tuple(self.module.regualizer())

    def reset_parameters(self) -> None:
        self.module.reset_parameters()

    def regualizer_terms(self) -> dict[str, Term | None]:
        return {key: partial(self._penalty, key) for key in self._keys}

    def _penalty(self, key: str) -> torch.Tensor:
        # One that is switched off is the number 0.
        return torch.as_tensor(self.module.regualizer()[key], dtype=torch.get_default_dtype())

    def after_step(self, loss: torch.Tensor) -> None:
        self.module.optimize(loss)


class UnitClasses(MutableMapping[str, type]):
    """The classes of all layers by key; to add one is to register it."""

    def __getitem__(self, key: str) -> type:
        return registry.entries()[key].module

    def __setitem__(self, key: str, layer: type) -> None:
        register(layer, key=key)

    def __delitem__(self, key: str) -> None:
        raise TypeError("a layer cannot be taken out of the table")

    def __iter__(self) -> Iterator[str]:
        return (key for key, entry in registry.entries().items() if entry.layer is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _SparsityError(torch.nn.Module):
    """The method of that name as a forward pass, which `functional_call` gives other parameters."""

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self) -> Any:
        return self.module.sparsity_error()  # pyright: ignore[reportCallIssue]


def plain_layer(module: type[torch.nn.Module]) -> type[PlainLayer]:
    """Return the layer that holds modules of a class and takes the options of its constructor."""
    defaults = {option.name: option.default for option in options_of(module)}
    body = {"Module": module, "option_defaults": defaults, "__doc__": module.__doc__}
    holder = ProtocolLayer if issubclass(module, ExtendedTorchModule) else PlainLayer
    return type(module.__name__, (holder,), body | {"__module__": module.__module__})


def options_of(module: type[torch.nn.Module]) -> list[inspect.Parameter]:
    """Return the parameters of a constructor behind the two sizes; raise TypeError without them."""
    signature = inspect.signature(module)
    signature.bind(1, 1)
    _, _, *options = signature.parameters.values()
    named = [p for p in options if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p for p in named if p.name not in OF_EVERY_LAYER]


class LayerFile(NamedTuple):
    """The text of a layer that is not of this package, as it was loaded, and where it is from."""

    path: str
    sha256: str
    source: str


_OF_FILES = "layer_file_"
"""What the names of modules begin with that are made of layer files."""
_loaded: dict[Path, LayerFile] = {}
_sources: dict[int, tuple[Any, LayerFile]] = {}
"""Texts and digests of classes and objects, as they were when their training began."""
_origin: list[str] = []
"""Where the layers that are registered at the moment come from; the innermost one last."""


def register(
    layer: type[torch.nn.Module],
    *,
    key: str | None = None,
    label: str | None = None,
    latex: str | None = None,
    cites: Paper | str = "",
    cell: type[Cell] | None = None,
) -> type[torch.nn.Module]:
    """Register a layer under a key, by default its class name, and return the class.

    The class is a `Layer`, or any torch module whose constructor takes the two sizes, and then
    options. label, latex: what figures and tables call it. cites: its paper. cell: its recurrent
    cell; by default h_t = layer([x_t, h_{t-1}]).

    Examples:
        >>> class Twice(torch.nn.Linear):
        ...     def forward(self, x):
        ...         return 2 * super().forward(x)
        >>> sn.register(Twice, label="Twice linear") is sn.layer("Twice")
        True
    """
    if not isinstance(layer, type):
        raise ValueError(f"{layer!r} is not a class; give the class of a layer")
    key = str(key or layer.__name__)
    if not (cell is None or (isinstance(cell, type) and issubclass(cell, Cell))):
        raise ValueError(f"the cell of {key}, {cell!r}, is not a class of stable_nalu.layer.Cell")
    paper = cites if isinstance(cites, Paper) else None
    for name, text in (("label", label), ("latex", latex), ("paper", None if paper else cites)):
        if text is None:
            continue
        if not (isinstance(text, str) and is_text(text)) or CONTROL.search(text):
            raise ValueError(f"the {name} of {key}, {text!r}, is not text of one line")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9.+-]*", key):
        raise ValueError(f"{key!r} cannot be a key; write letters, digits, dots, + and -")
    if not issubclass(layer, torch.nn.Module):
        raise ValueError(f"{key} is not a class of torch.nn.Module")
    origin = _origin[-1] if _origin else layer.__module__
    for entry in registry.entries().values():
        if entry.key.lower() == key.lower() and entry.origin != origin:
            owner = f"of {entry.origin}" if entry.origin else "of this package"
            raise ValueError(f"{key} is a layer {owner} too; give it another name")
    if not _is_layer(layer):
        raise ValueError(f"the constructor of {key} {_lack(layer)}")
    built = layer if issubclass(layer, Layer) else plain_layer(layer)
    known = {"latex": latex.strip("$") if latex else None, "tier": "own", "origin": origin}
    paper = paper or Paper(key, "", 0, str(cites))
    recurs = cell is None
    registry.put(registry.LayerEntry(key, label or key, paper, built, cell, recurs, **known))
    return layer


def _is_layer(module: type[torch.nn.Module]) -> bool:
    """Return whether a constructor takes the two sizes, and options that have defaults."""
    try:
        options_of(module)
    except (TypeError, ValueError):
        return False
    return True


def _lack(layer: type) -> str:
    """Return what a constructor lacks that the constructor of a layer has."""
    try:
        names = list(inspect.signature(layer).parameters)
    except (TypeError, ValueError):
        names = []
    lacking = [name for name in ("in_features", "out_features") if name not in names]
    named = len(lacking) == 1 and len(names) == 1
    return "does not take (in_features, out_features) and options; " + (
        f"it lacks {lacking[0]}" if named else f"it takes ({', '.join(names)})"
    )


def why_no_layer(name: str) -> str | None:
    """Return why a class of a layer file is no layer; None where there is no such class."""
    for module in list(sys.modules.values()):
        found = vars(module).get(name) if module.__name__.startswith(_OF_FILES) else None
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            return f"{name} is no layer: its constructor {_lack(found)}"
    return None


def read_layer_file(path: str, flag: str = "--layer-file") -> LayerFile:
    """Return the text of a file, which is not run."""
    try:
        content = Path(path).read_bytes()
        return LayerFile(path, hashlib.sha256(content).hexdigest(), content.decode())
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "it is not text"
        problem = f"cannot read {path}: {said}"
        raise OptionError(flag, problem, "name a Python file") from None


def load_layer_file(path: str, sha256: str | None = None, flag: str = "--layer-file") -> LayerFile:
    """Run a file of layers, or of a task, and make them known.

    A file of another digest than `sha256` is refused; one that has not changed is not run again.
    """
    file, place = read_layer_file(path, flag), Path(path).resolve()
    if sha256 not in (None, file.sha256):
        raise UsageError(f"{path} was changed while its layers were trained; start again")
    known = _loaded.get(place)
    if known is None or known.sha256 != file.sha256:
        registry.drop(origin=str(place))
        _loaded.pop(place, None)
        _run(path, place, file.sha256, flag)
        known = _loaded[place] = file
    return known


def load_layers(files: Sequence[LayerFile] = ()) -> None:
    """Make known what another process of the same command knows."""
    load_installed_layers()
    for file in files:
        load_layer_file(file.path, file.sha256)


def loaded_files() -> tuple[LayerFile, ...]:
    return tuple(_loaded.values())


def sources(units: Iterable[object]) -> list[LayerFile]:
    """Return the files, or source text, that define units from outside this package."""
    entries = [registry.owned(str(unit)) for unit in units]
    own = [(entry, entry.origin) for entry in entries if entry is not None and entry.origin]
    found = [_loaded.get(Path(origin)) or _source_of(entry) for entry, origin in own]
    return list(dict.fromkeys(found))


def digests_of(units: Iterable[object]) -> list[str]:
    """Return the digests of the units that are not of this package."""
    return [file.sha256 for file in sources(units)] if registry.all_owned() else []


def is_of_program(unit: str) -> bool:
    """Return whether a unit is of this program alone: of no file, and of no package."""
    entry = registry.owned(unit)
    return entry is not None and entry.origin == getattr(entry.module, "__module__", "")


def _source_of(entry: registry.LayerEntry | registry.Brought) -> LayerFile:
    """Return the text of one class or object, which a program or an installed package defines."""
    if isinstance(entry, registry.Brought) and entry.sha256:
        return LayerFile(entry.origin, entry.sha256, "")
    layer: Any = entry.module
    if isinstance(known := getattr(layer, "source", None), LayerFile):
        return known
    if id(layer) not in _sources:
        _sources[id(layer)] = layer, _described(layer, entry.key)
    return _sources[id(layer)][1]


def _described(value: Any, name: str) -> LayerFile:
    """Return the text of a class or of another object.

    The digest is of all that tells it from others of the same text, too.
    """
    source, state = _text_of(value), ClassState(value)
    if state.opaque:
        problem = f"{name} reads {state.opaque}, which no record can tell from another"
        raise UsageError(f"{problem}; make it an option or a buffer")
    digest = hashlib.sha256(source.encode() + state.fingerprint).hexdigest()
    kind = value if hasattr(value, "__qualname__") else type(value)
    return LayerFile(f"{kind.__module__}.{kind.__qualname__}", digest, source)


def bring(value: Any, name: str | None = None) -> str:
    """Make an object known, and return the word by which configurations name it.

    The word holds a digest: two functions of one name are two words.
    """
    name = re.sub(r"\W+", "", name or getattr(value, "__name__", type(value).__name__))
    name = name.replace("_", ".")
    file = _described(value, name)
    word = f"{name.replace('lambda', 'function')}-{file.sha256[:8]}()"
    origin = _origin[-1] if _origin else getattr(value, "__module__", None) or word
    registry.bring(registry.Brought(word, value, str(origin)))
    _sources[id(value)] = value, file
    return word


def bring_network(build: Any) -> str:
    """Make a network known as a layer, and return its key.

    build: a module, whose weights every run starts from; or what makes one, given the numbers of
    inputs and outputs, or fewer.
    """
    word = bring(build)
    key, file = word.removesuffix("()"), _sources[id(build)][1]
    is_module = isinstance(build, torch.nn.Module)
    try:
        taken = 0 if is_module else _taken(inspect.signature(build))
    except (TypeError, ValueError):
        raise ValueError(f"{key} does not take the numbers of inputs and outputs") from None

    class Network(torch.nn.Module):
        is_whole = True

        def __init__(self, in_features: int, out_features: int):
            super().__init__()
            sizes = (in_features, out_features)[:taken]
            self.network = copy.deepcopy(build) if is_module else build(*sizes)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.network(x)

    Network.source = file  # pyright: ignore[reportAttributeAccessIssue]
    register(Network, key=key, label=key.rpartition("-")[0])
    return key


def _taken(signature: inspect.Signature) -> int:
    """Return how many of two positional arguments a function takes; raise TypeError if it cannot.

    Those with defaults are not given.
    """
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [p for p in signature.parameters.values() if p.kind in kinds and p.default is p.empty]
    signature.bind(*range(min(len(given), 2)))
    return len(given)


def _text_of(layer: Any) -> str:
    """Return the source text of a class, or of its methods if another class's text is found.

    For a function return its own text, for any other object the text of its class.
    """

    def text(part: type | FunctionType) -> tuple[list[str], int]:
        try:
            return inspect.getsourcelines(part)
        except (OSError, TypeError):  # a notebook keeps the text of methods, interpreters keep none
            return [], 0

    if not isinstance(layer, type):
        return "".join(text(layer if inspect.isfunction(layer) else type(layer))[0])
    methods = [m for m in vars(layer).values() if inspect.isfunction(m)]
    lines, first = text(layer)
    file = inspect.getsourcefile(layer) if lines else None
    at = [m.__code__.co_firstlineno for m in methods if m.__code__.co_filename == file]
    if lines and at and all(first <= line < first + len(lines) for line in at):
        return "".join(lines)
    return "\n".join("".join(text(method)[0]) for method in methods)


def forget_sources() -> None:
    """Look again at the code of classes of the program, which it may have changed."""
    _sources.clear()


def failure_of_own_layer(error: BaseException) -> str | None:
    """Return where a layer, or a function, that is not of this package has failed, if one has."""
    if isinstance(error, OutputShapeError):
        return str(error)
    places = [(f.filename, f.lineno or 0) for f in traceback.extract_tb(error.__traceback__)][::-1]
    codes = [(one, _codes_of(one)) for one in registry.all_owned()]
    # Of several in one file, that whose own lines have failed.
    for filename, line in places:
        for one, own in codes:
            if any(c.co_filename == filename and line in _lines_of(c) for c in own):
                return _said(one, filename, line, error)
    for one, own in codes:
        files = {code.co_filename for code in own}
        if (line := _line(error, files)) is not None:
            return _said(one, min(files), line, error)
    return None


def _codes_of(one: registry.LayerEntry | registry.Brought) -> list[CodeType]:
    own = one.module
    parts = own, own if isinstance(own, type) else type(own), one.cell
    held = [vars(part) for part in parts if hasattr(part, "__dict__")]
    methods = [own, *(m for part in held for m in part.values())]
    return [m.__code__ for m in methods if inspect.isfunction(m)]


def _lines_of(code: CodeType) -> range:
    lines = [line for _, _, line in code.co_lines() if line]
    return range(code.co_firstlineno, max(lines, default=0) + 1)


def _said(one: Any, file: str, line: int, error: BaseException) -> str:
    kind = "function" if isinstance(one, registry.Brought) else "layer"
    where = f"{one.key} fails in line {line} of {Path(file).name}"
    return f"{where}: {in_words(error)}; fix the {kind}, then start again"


def _line(error: BaseException, files: Collection[str]) -> int | None:
    """Return the innermost line of some files at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in files]
    return lines[-1] if lines else None


@contextmanager
def _coming_from(origin: str) -> Iterator[None]:
    _origin.append(origin)
    try:
        yield
    finally:
        _origin.pop()


def module_of(path: str) -> ModuleType:
    """Return the module that a file was run as."""
    place = Path(path).resolve()
    return sys.modules[_module_name(place, _loaded[place].sha256)]


def _module_name(place: Path, digest: str) -> str:
    return f"{_OF_FILES}{re.sub(r'[^0-9A-Za-z]', '_', place.stem)}_{digest[:12]}"


def _run(path: str, place: Path, digest: str, flag: str) -> None:
    name = _module_name(place, digest)
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        problem = f"{path} is not a Python file"
        raise OptionError(flag, problem, "its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _coming_from(str(place)):
            spec.loader.exec_module(module)
            found = _register_classes(module)
    except STOPS:
        raise
    except BaseException as error:
        del sys.modules[name]
        registry.drop(origin=str(place))
        line = getattr(error, "lineno", None) or _line(error, {str(place)})
        where = f"line {line} of {path}" if line else path
        problem = f"{where}: {in_words(error)}"
        raise OptionError(flag, problem, "fix the file") from None
    if not found and not hasattr(module, "TASK"):
        remedy = "write a torch.nn.Module whose constructor takes (in_features, out_features)"
        raise OptionError(flag, f"{path} defines no layer", remedy)


def _register_classes(module: ModuleType) -> list[str]:
    """Make known what a module defines and has not registered itself; return all its keys."""
    registered = [entry.module for entry in registry.own_entries()]
    for name, value in list(vars(module).items()):
        is_own = isinstance(value, type) and value.__module__ == module.__name__
        if not is_own or name.startswith("_") or value in registered:
            continue
        if not issubclass(value, torch.nn.Module) or issubclass(value, Cell):
            continue
        if _is_layer(value):  # Others are parts of layers.
            register(value)
    return [entry.key for entry in registry.own_entries() if entry.origin == _origin[-1]]


@cache
def load_installed_layers() -> None:
    """Make known the layers of installed packages; warn of those that cannot be loaded."""
    for point in installed_layers():
        try:
            found = point.load()
            with _coming_from(f"the package {point.value.partition(':')[0]}"):
                if isinstance(found, ModuleType):
                    _register_classes(found)
                else:
                    register(found, key=point.name)
        except STOPS:
            raise
        except BaseException as error:
            said = in_words(error)
            sys.stderr.write(f"warning: the layers of {point.value} are left out: {said}\n")
