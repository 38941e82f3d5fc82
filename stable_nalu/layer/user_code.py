"""Code of users: the Python state that it can reach, and a trial of its layers before any run.

The state consists of attributes at any depth, closures, classes with their bases, and globals that
code names. It is compared between passes, put back, or read of a class. `opaque` names an object
that cannot be read, `uses` a module such as `time`.
"""

import copy
import dis
import hashlib
import io
import pickle
import random
import sys
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache, cached_property, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, stack_models
from stable_nalu.base.errors import STOPS, in_words
from stable_nalu.base.files import CHECKOUT

from .base import KNOWN, OutputShapeError, foreign_modules

Names = frozenset[str]

QUIET = {"torch", "logging", "typing", "re", "pathlib"}
"""Packages whose objects count by their text, except modules and containers."""
CHANCE = {"time", "random", "_random", "secrets", "uuid", "datetime"}
"""Modules whose functions return other numbers at each call."""
GENERATORS = np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random
ATOMS = type(None), bool, int, float, complex, str, bytes
METHODS = FunctionType, staticmethod, classmethod, property, cached_property
MOST = 20_000
"""The most values that are read; a layer with more is opaque."""

SHARED = "the generator of random", "the generator of numpy.random"
"""Places of generators that a whole process shares."""
OURS = {
    *("random", "trace", "allow_random", "training", "obstacle"),
    *("_iteration", "_progress", "clock_reads"),
}
OF_TORCH = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
ENTRIES = {
    *("forward", "backward", "setup_context", "unroll", "sparsity_error", "weights"),
    *("regualizer_terms", "parameter_bounds", "after_step", "observations"),
    *("penalty_weights", "param_groups"),
}
"""Methods that training calls. Others count if such code names them, and operators do."""
UNCALLED = {"__init__", "__new__", "__init_subclass__", "__repr__", "__reduce__", "__getstate__"}


def tensors_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return all parameters and buffers, shared ones under each of their names."""
    named = model.named_parameters(remove_duplicate=False)
    return dict(named) | dict(model.named_buffers(remove_duplicate=False))


class PythonState:
    """The current Python state of a model: `values` by their places."""

    _package = ""

    def __init__(self, model: torch.nn.Module):
        tensors = tensors_of(model)
        self._begin((*tensors.items(), *model.named_modules()))
        for path, value in tensors.items():
            kind = type(value).__name__, value.dtype, tuple(value.shape), value.requires_grad
            self._note(f"{path} itself", str(kind))
        foreign = foreign_modules(model)
        for path, part in foreign:
            self._guarded(path, self._object, part, OURS | OF_TORCH)
        self._look_at_methods()
        if foreign:
            for path, own in zip(SHARED, (random, np.random), strict=True):
                get, put = ("getstate", "setstate") if own is random else ("get_state", "set_state")
                state = getattr(own, get)()
                self._note(path, pickle.dumps(state), partial(getattr(own, put), state))
            self._undo.append(partial(torch.set_rng_state, torch.get_rng_state()))

    def difference(self, other: "PythonState", without: Iterable[str] = ()) -> str | None:
        """Return the first place at which another state differs, except some places."""
        passed = tuple(without)
        for path in [*self.values, *other.values]:
            known = any(path == p or path.startswith((f"{p}.", f"{p}[")) for p in passed)
            if not known and self.values.get(path) != other.values.get(path):
                return path
        return None

    @torch.no_grad()
    def put_back(self) -> None:
        """Restore everything in place, once."""
        for undo in self._undo:
            undo()

    @property
    def fingerprint(self) -> bytes:
        """Return bytes that are equal for equal states, also in other processes."""
        kept = {path: v for path, v in self.values.items() if path not in SHARED}
        return repr(sorted(kept.items())).encode()

    def _begin(self, known: Iterable[tuple[str, object]]) -> None:
        self.values: dict[str, object] = {}
        self.uses = self.opaque = ""
        self._undo: list[Callable[[], object]] = []
        self._names = set(ENTRIES)
        self._methods: list[tuple[str, str, Any, bool]] = []
        self._seen = {id(part): (path, part) for path, part in known}

    def _look_at_methods(self) -> None:
        while called := [one for one in self._methods if self._is_called(one[1], one[3])]:
            self._methods = [one for one in self._methods if one not in called]
            for path, _, method, _ in called:
                self._look(path, method)

    def _is_foreign(self, module: str | None) -> bool:
        """Return whether a module is a user's: of none of the known packages."""
        return (module or "").split(".")[0] not in KNOWN

    def _is_called(self, name: str, of_module: bool) -> bool:
        if self._package:
            return True
        if name in UNCALLED:
            return name == "__init__" and not of_module
        return name in self._names or name.startswith("__")

    def _note(self, path: str, content: object, undo: Callable[[], object] | None = None) -> str:
        """Return the place of a value: another one if something else has that place."""
        if isinstance(content, bytes):
            content = hashlib.sha256(content).hexdigest()[:16]
        while self.values.get(path, content) != content:
            path += "'"
        self.values[path] = content
        if undo is not None:
            self._undo.append(undo)
        return path

    def _look(self, path: str, value: Any) -> None:
        if type(value) in ATOMS or isinstance(value, np.generic | Enum):
            self._note(path, f"{type(value).__name__} {value!r}")
        elif id(value) in self._seen:
            self._note(path, f"the same as {self._seen[id(value)][0]}")
        elif len(self.values) > MOST:
            self.opaque = self.opaque or "state, which is too large"
        else:
            self._seen[id(value)] = path, value
            self._guarded(path, self._inside, value)

    def _guarded(self, path: str, look: Callable[..., None], *value: Any) -> None:
        try:
            look(path, *value)
        except Exception:  # Objects of users may raise anything.
            self.opaque = self.opaque or path

    def _inside(self, path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            plain = value.detach()
            flat = plain.cpu().resolve_conj().contiguous().reshape(-1).view(torch.uint8)
            kind = f"{value.dtype} {tuple(value.shape)} {value.requires_grad} ".encode()
            undo = partial(plain.copy_, plain.clone())
            self._note(path, kind + flat.numpy().tobytes(), undo)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            kind = f"{value.dtype} {value.shape} ".encode()
            self._note(path, kind + value.tobytes(), partial(np.copyto, value, value.copy()))
        elif isinstance(value, (*GENERATORS, torch.Generator)):
            self._generator(path, value)
        elif isinstance(value, FunctionType):
            self._function(path, value)
        elif isinstance(value, type):
            self._class(path, value)
        elif isinstance(value, MethodType | BuiltinFunctionType):
            self._note(path, f"{value.__module__}.{value.__qualname__}")
            self._look(f"{path}.__func__", getattr(value, "__func__", None))
            if not isinstance(value.__self__, ModuleType):
                self._look(f"{path}.__self__", value.__self__)
        elif isinstance(value, METHODS):
            for name in ("fget", "fset", "__func__", "func"):
                self._look(f"{path}.{name}", getattr(value, name, None))
        elif isinstance(value, partial):
            self._items(path, {"func": value.func, "args": value.args, **value.keywords})
        elif isinstance(value, io.IOBase):
            raise TypeError("a file")
        else:
            self._object(path, value)

    def _generator(self, path: str, value: Any) -> None:
        if isinstance(value, random.Random):
            state, put_back = value.getstate(), value.setstate
        elif isinstance(value, np.random.RandomState | torch.Generator):
            state, put_back = value.get_state(), value.set_state
        else:
            bits = getattr(value, "bit_generator", value)
            state, put_back = bits.state, partial(setattr, bits, "state")
        said = state.numpy().tobytes() if isinstance(state, torch.Tensor) else pickle.dumps(state)
        self._note(path, said, partial(put_back, state))

    def _object(self, path: str, value: Any, passed: Collection[str] = ()) -> None:
        kind = type(value)
        said = repr(value) if isinstance(value, ATOMS) else ""
        path = self._note(path, f"{kind.__module__}.{kind.__qualname__} {said}")
        is_quiet = kind.__module__.split(".")[0] in QUIET
        if is_quiet and not isinstance(value, torch.nn.Module | tuple | list | dict):
            said = repr(value)
            self.values[path] = kind.__qualname__ if " at 0x" in said else said
            return
        self._look(f"{path}.__class__", kind)
        if isinstance(value, dict):  # the keys of hooks count all that there are
            self._items(path, dict(enumerate(value.values())) if path[-6:] == "_hooks" else value)
        elif isinstance(value, list | tuple | deque):
            self._items(path, dict(enumerate(value)))
        elif isinstance(value, set | frozenset):
            self.values[path] = repr(sorted(map(repr, value)))
        elif not hasattr(value, "__dict__") and not self._is_foreign(kind.__module__):
            said = repr(value)  # of an object without attributes, such as an iterator
            if " at 0x" in said:
                self._items(path, dict(enumerate(value.__reduce_ex__(2))))
            else:
                self.values[path] = said
        if isinstance(value, dict | list | deque | set):
            self._undo.append(partial(_refill, value, _kept(value)))
        slots = {s for c in kind.__mro__ for s in _listed(vars(c).get("__slots__", ()))}
        for name in sorted(s for s in slots - {"__dict__"} if hasattr(value, s)):
            self._look(f"{path}.{name}", getattr(value, name))
            self._undo.append(partial(object.__setattr__, value, name, getattr(value, name)))
        if hasattr(value, "__dict__"):
            own = {name: one for name, one in vars(value).items() if name not in passed}
            for name, one in own.items():
                self._look(f"{path}.{name}", one)
            self._undo.append(partial(_restore, vars(value), _kept(own), passed=passed))

    def _items(self, path: str, items: Mapping[Any, Any]) -> None:
        for key, value in items.items():
            name = repr(key) if isinstance(key, ATOMS) else type(key).__name__
            self._look(f"{path}[{name}]", value)

    def _class(self, path: str, value: type) -> None:
        kinds = value.__mro__
        self._note(path, " ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds))
        of_module = issubclass(value, torch.nn.Module)
        for base in (kind for kind in kinds if self._is_foreign(kind.__module__)):
            before = dict(vars(base))
            self._undo.append(partial(_restore, base, _kept(before)))
            for name, one in before.items():
                place = f"{base.__name__}.{name}"
                if isinstance(one, METHODS):
                    self._methods.append((place, name, one, of_module))
                elif not name.startswith(("__", "_abc")):
                    self._look(place, one)

    def _function(self, path: str, value: FunctionType) -> None:
        self._note(path, f"{value.__module__}.{value.__qualname__}")
        if not self._is_foreign(value.__module__):
            return
        code, read = value.__code__, reads_of(value.__code__)
        names = read.names | read.strings
        self._note(path, read.digest)
        self._names |= names
        self._look(f"{path} defaults", value.__defaults__)
        self._look(f"{path} defaults by name", value.__kwdefaults__)
        self._look(f"{path} attributes", vars(value))
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            content = cell.cell_contents
            self._undo.append(partial(setattr, cell, "cell_contents", _kept_one(content)))
            self._global(f"{name} of {value.__name__}", content, names)
        # The cells of a notebook have other names each time.
        home = "the program" if self._package else Path(code.co_filename).name
        found = read.global_names if self._package else names
        self._scope(f"of {home}", value.__globals__, found, names)
        for name in sorted(read.imported & sys.modules.keys()):
            self._global(name, sys.modules[name], names)

    def _scope(self, of: str, scope: dict[str, Any], read: Names, names: Names) -> None:
        own = {name: scope[name] for name in sorted(read & scope.keys())}
        self._undo.append(partial(_restore, scope, _kept(own), only=read - scope.keys()))
        for name, one in own.items():
            self._global(f"{name} {of}", one, names)

    def _global(self, path: str, value: Any, names: Names) -> None:
        """Read a value that code names. Of a module only the names in that code count."""
        module = value.__name__ if isinstance(value, ModuleType) else ""
        maker = getattr(value, "__self__", None)
        home = module or getattr(value, "__module__", None) or ""
        if module == "numpy" and "random" in names:
            home = "numpy.random"
        if home == "numpy.random" or home.split(".")[0] in CHANCE or isinstance(maker, GENERATORS):
            self.uses = self.uses or home or "random"
        if not module:
            self._look(path, value)
        elif self._is_foreign(module) and id(value) not in self._seen:
            self._seen[id(value)] = path, value
            self._scope(f"of {module}", vars(value), names, names)


class ClassState(PythonState):
    """What a class, or another object, computes by besides its text, here and in other programs.

    What installed packages define counts by its name.
    """

    def __init__(self, kind: Any):
        self._begin(())
        package = (getattr(kind, "__module__", "") or "").partition(".")[0]
        self._package = "-" if package in KNOWN else package
        self._look(getattr(kind, "__name__", type(kind).__name__), kind)
        self._look_at_methods()

    def _is_foreign(self, module: str | None) -> bool:
        top = (module or "builtins").partition(".")[0]
        file = getattr(sys.modules.get(top), "__file__", None) or ""
        installed = {"site-packages", "dist-packages"} & {*Path(file).parts}
        return top in (self._package, "__main__") or not (top in KNOWN or installed)


class CodeReads(NamedTuple):
    """Everything that code and its inner code look up: names, global names, strings and modules."""

    digest: bytes
    names: Names
    global_names: Names
    strings: Names
    imported: Names


@cache
def reads_of(code: CodeType) -> CodeReads:
    looked_up = [(i.opname, i.argval) for i in dis.get_instructions(code)]
    found: tuple[set[str], ...] = (
        set(code.co_names),
        {name for kind, name in looked_up if kind in ("LOAD_GLOBAL", "LOAD_NAME")},
        {constant for constant in code.co_consts if isinstance(constant, str)},
        {name for kind, name in looked_up if kind == "IMPORT_NAME"},
    )
    parts = [code.co_code, repr(code.co_names).encode()]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            digest, *within = reads_of(constant)
            for own, more in zip(found, within, strict=True):
                own.update(more)
            parts.append(digest)
        else:
            # The order in a set differs from process to process.
            known = sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
            parts.append(repr(known).encode())
    return CodeReads(hashlib.sha256(b"|".join(parts)).digest(), *map(frozenset, found))


def _kept(value: Any) -> Any:
    """Return a copy of a container and of its iterators."""
    if isinstance(value, dict):
        return {name: _kept_one(one) for name, one in value.items()}
    return set(value) if isinstance(value, set) else [_kept_one(one) for one in value]


def _kept_one(value: Any) -> Any:
    try:
        return copy.copy(value) if hasattr(value, "__next__") else value
    except Exception:  # A generator cannot be copied.
        return value


def _refill(target: Any, before: Any) -> None:
    """Fill a container by the methods of its plain kind, which another class may have disabled."""
    kind: Any = next(kind for kind in (dict, set, list, deque) if isinstance(target, kind))
    kind.clear(target)
    (kind.update if kind in (dict, set) else kind.extend)(target, before)


def _restore(
    target: Any,
    before: Mapping[str, Any],
    passed: Collection[str] = (),
    only: Collection[str] | None = None,
) -> None:
    """Give a class, or a dictionary, the names and values that it had."""
    own, put, take = target, dict.__setitem__, dict.__delitem__
    if isinstance(target, type):
        own, put, take = vars(target), setattr, delattr
    for name in own.keys() - before.keys() - {*passed}:
        if only is None or name in only:
            take(target, name)
    for name, value in before.items():
        if own.get(name) is not value:
            put(target, name, value)


def _listed(names: Any) -> Iterable[str]:
    return (names,) if isinstance(names, str) else tuple(names)


_RUNS, _ROWS, _DRAWS = 2, 3, 8
"""Runs and rows that a layer is tried on, and how many are built to see what constructors draw."""
_SPELLED = "regualizer", "regularizer", "regularizer_terms"
_OF_LAYERS = "regualizer_terms", "parameter_bounds", "after_step", "observations"
_UNCALLED = {
    **dict.fromkeys(_SPELLED, "write regualizer_terms()"),
    "optimize": "write parameter_bounds() or after_step()",
}
"""Methods of layers that training does not call, and what to do."""
_PLAIN_REMEDY = "inherit stable_nalu.Layer for penalties and bounds"
_UNCALLED_OF_PLAIN = dict.fromkeys((*_UNCALLED, *_OF_LAYERS), _PLAIN_REMEDY)

_OUTCOMES: dict[object, str | None] = {}


@contextmanager
def _as_usage_error(problem: str) -> Iterator[None]:
    try:
        yield
    except (OutputShapeError, *STOPS):
        raise
    except BaseException as error:
        raise ValueError(f"{problem}: {in_words(error)}") from None


def obstacle(
    build: Callable[..., ExtendedTorchModule],
    in_features: int,
    out_features: int,
    options: dict[str, object],
) -> str | None:
    """Return why runs of a layer cannot be stacked, or None where they can.

    Raise ValueError, in one line, for a layer that does not work at all. Each kind of layer is
    tried once, and no random number of the caller is used up.
    """
    key = (build, in_features, out_features, repr(options), torch.get_default_dtype())
    if key not in _OUTCOMES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built = [_built(build, in_features, out_features, options) for _ in range(_DRAWS)]
            # Passes may leave behind what those that train would find, such as a count.
            state = PythonState(built[0])
            try:
                _OUTCOMES[key] = _tried(built, in_features)
            finally:
                state.put_back()
    return _OUTCOMES[key]


def _tried(built: Sequence[ExtendedTorchModule], in_features: int) -> str | None:
    # Before a forward pass, which may leave tensors of its own behind.
    found = _unstacked_state(built)
    x = torch.rand(_RUNS, _ROWS, in_features) + 0.5
    alone, (spare, *_) = built[:_RUNS], built[_RUNS:]
    expected, y = _outputs(alone, x), _outputs([spare.train()], x)
    kind, learned = type(spare).__name__, [p for p in spare.parameters() if p.requires_grad]
    if learned and y.requires_grad:
        with _as_usage_error(f"{kind} has no gradient"):
            y.sum().backward()
    for name, parameter in spare.named_parameters():
        if parameter.grad is not None and parameter.grad.layout != torch.strided:
            raise ValueError(f"{kind}: {name} has a sparse gradient; make it dense")
    _require_known_methods(spare)
    with _as_usage_error(f"{kind} cannot be observed"):
        measures = _measures(spare)
    for (_, what), measure in measures.items():
        with _as_usage_error(f"{kind}: its {what} fails"):
            shape = tuple(torch.as_tensor(measure()).shape)
        if shape:
            raise ValueError(f"{kind}: its {what} has shape {shape}; one number is expected")
    read = {name for module in spare.extended_modules() for name in module.clock_reads}
    if read:
        return f"a layer that reads self.{min(read)}"
    return found or spare.obstacle or _obstacle(alone, x, expected)


def _built(build, in_features, out_features, options) -> ExtendedTorchModule:
    with _as_usage_error(f"{build.__name__} cannot be built"):
        layer = build(in_features, out_features, **options)
        layer.reset_parameters()
    for name, parameter in layer.named_parameters():
        place = f"{build.__name__}: {name}"
        if is_lazy(parameter) or parameter.is_meta:
            raise ValueError(f"{place} has no numbers yet; build it with all its sizes")
        if parameter.layout != torch.strided:
            raise ValueError(f"{place} is a sparse tensor; make it dense")
    for module in layer.extended_modules():
        module.trace = {}  # What is logged may be of a forward pass.
    return layer.eval()


def _outputs(layers, x: torch.Tensor) -> torch.Tensor:
    name = type(layers[0]).__name__
    inputs = [one.clone() for one in x[: len(layers)]]
    with _as_usage_error(f"{name} fails on an input of shape {tuple(x.shape[1:])}"):
        outputs = []
        for run, (layer, one) in enumerate(zip(layers, inputs, strict=True)):
            torch.manual_seed(run)
            outputs.append(layer(one))
    for output in outputs:
        if not output.is_floating_point():
            raise ValueError(f"{name} gives {output.dtype}; real numbers are expected")
    if not torch.equal(torch.stack(inputs), x[: len(layers)]):
        # Evaluation would feed it other numbers each time.
        raise ValueError(f"{name} changes its input in place; let it work on a copy")
    return torch.stack(outputs)


def _require_known_methods(layer: torch.nn.Module) -> None:
    """Refuse methods that training does not call, and bounds of parameters that there are not."""
    for module in layer.modules():
        name, is_ours = type(module).__name__, isinstance(module, ExtendedTorchModule)
        if is_ours and module.is_as_published:
            continue
        for method, remedy in (_UNCALLED if is_ours else _UNCALLED_OF_PLAIN).items():
            own = getattr(type(module), method, None)
            if callable(own) and own is not getattr(ExtendedTorchModule, method, None):
                raise ValueError(f"{name} defines {method}(), which is not called; {remedy}")
        held = dict(module.named_parameters(recurse=False))
        for bounded in module.parameter_bounds() if is_ours else ():
            if bounded not in held and getattr(module, bounded, held) is not None:
                raise ValueError(f"{name} bounds {bounded!r}, which is not a parameter of its own")


def _measures(layer: ExtendedTorchModule) -> dict[tuple[str, str], Callable[[], object]]:
    """Return penalties and logged numbers of a layer, by its part and what messages call them."""
    found: dict[tuple[str, str], Callable[[], object]] = {}
    for path, module in layer.named_modules():
        if isinstance(module, ExtendedTorchModule):
            terms = module.regualizer_terms().items()
            found |= {(path, f"penalty {key!r}"): term for key, term in terms if term is not None}
            logged = (o for o in module.observations() if o.kind == "scalar")
            found |= {(path, f"observation {one.name!r}"): one.value for one in logged}
    return found


def _unstacked_state(layers: Sequence[torch.nn.Module]) -> str | None:
    """Return what a layer has that a stack of its parameters and buffers would lack."""
    first = layers[0]
    named = list(first.named_parameters(remove_duplicate=False))
    if len({id(parameter) for _, parameter in named}) < len(named):
        return "parts of it share a parameter"
    for name, parameter in named:
        # Torch tells of them in these attributes alone.
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
            return f"{name} has a hook on its gradient"
    parts = [dict(layer.named_modules()) for layer in layers]
    for path, module in parts[0].items():
        held = [(n, v) for n, v in vars(module).items() if isinstance(v, torch.Tensor)]
        for name, value in held:
            others = [vars(part[path]).get(name) for part in parts]
            if not all(isinstance(o, torch.Tensor) and torch.equal(value, o) for o in others):
                return f"{name} is drawn, and no buffer; register_buffer makes it one"
    return None


def _stumble(error: BaseException) -> str:
    """Say what failed, and in which line of the layer's file."""
    reads = "it reads one number of a tensor (.item(), float, if)"
    said = reads if ".item()" in str(error) else in_words(error)
    ours = str(Path(torch.__file__).parent), str(CHECKOUT / "stable_nalu")
    own = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    return f"{said} in line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else said


_close = partial(torch.allclose, rtol=1e-4, atol=1e-5, equal_nan=True)


def _obstacle(layers, x: torch.Tensor, expected: torch.Tensor) -> str | None:
    singles = [[torch.as_tensor(tell()) for tell in _measures(layer).values()] for layer in layers]
    stack = stack_models(layers)
    source = PerRunRandomSource([torch.Generator().manual_seed(k) for k in range(len(layers))])
    for module in stack.extended_modules():
        module.random = source
    try:
        same = _close(stack(x), expected)
        for ((_, what), tell), *alone in zip(_measures(stack).items(), *singles, strict=True):
            value = torch.as_tensor(tell())
            if value.shape != (len(layers),) or not _close(value, torch.stack(alone)):
                return f"its {what} is not one number for each run of a stack"
        total = stack.train()(x).sum()
        if total.requires_grad:
            total.backward()
    except STOPS:
        raise
    except BaseException as error:  # what vmap, or code for one run only, cannot do
        return _stumble(error)
    return None if same else "its outputs are others where runs are stacked"
