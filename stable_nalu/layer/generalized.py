"""Build a layer or a recurrent cell from its public key and a set of options.

A layer that is not of this package is tried before any run of it is trained.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, stack_models
from stable_nalu.base.errors import STOPS, in_words
from stable_nalu.base.files import CHECKOUT
from stable_nalu.layer.python_state import PythonState

from .base import OutputShapeError
from .registry import LayerEntry, entries


def select_options(entry: LayerEntry, options: dict[str, object]) -> dict[str, object]:
    """Return those options that the layer of `entry` reads; refuse names that no layer reads.

    `own_options`, which scripts give, are those that no flag sets. A torch module that was not
    written for this package reads no others: what its options mean cannot be known.
    """
    options = dict(options)
    own: dict[str, object] | None = options.pop("own_options", None)  # pyright: ignore
    if own is None and not options.keys() <= entry.options:  # what flags set is known
        known = frozenset().union(*(e.options for e in entries().values()))
        unknown = options.keys() - known
        if unknown:
            raise TypeError(f"no layer reads the option(s) {', '.join(sorted(unknown))}")
    own = own or {}
    options = own if entry.is_plain else own | options
    return {k: v for k, v in options.items() if k in entry.options} | entry.fixed_options


def lookup(
    unit_name: str, *, cell: bool = False
) -> tuple[LayerEntry, Callable[..., ExtendedTorchModule]]:
    """Return the entry of a key, and its layer or cell class."""
    entry = entries().get(unit_name)
    build = entry and (entry.cell if cell else entry.layer)
    if entry is None or build is None:
        kind = "recurrent cell" if cell else "layer"
        raise ValueError(f"{unit_name!r} is not a {kind}; see docs/layers.md")
    return entry, build


class GeneralizedLayer(ExtendedTorchModule):
    """The registered layer `unit_name`, given those options that it reads."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        unit_name: str,
        name: str | None = None,
        **options,
    ):
        super().__init__("layer", name)
        self.unit_name = unit_name
        entry, build = lookup(unit_name)
        selected = select_options(entry, options)
        if entry.origin is not None:
            self.obstacle = obstacle(build, in_features, out_features, selected)
        self.layer = build(in_features, out_features, **selected)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class GeneralizedCell(ExtendedTorchModule):
    """The registered recurrent cell `unit_name`, given those options that it reads."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        unit_name: str,
        name: str | None = None,
        **options,
    ):
        super().__init__("cell", name)
        self.unit_name = unit_name
        entry, build = lookup(unit_name, cell=True)
        selected = select_options(entry, options)
        if entry.origin is not None and entry.layer is not None:
            width = input_size + hidden_size
            self.obstacle = obstacle(entry.layer, width, hidden_size, selected)
        self.cell = build(input_size, hidden_size, name=name, **selected)

    def forward(self, x_t: torch.Tensor, h_tm1):
        return self.cell(x_t, h_tm1)

    def unroll(self, x: torch.Tensor, state: Any) -> torch.Tensor:
        """Return h behind the last step of x `(*runs, batch, time, input_size)`."""
        return self.cell.unroll(x, state)


_RUNS, _ROWS = 2, 3
"""Sizes of what a layer is tried on; the number of rows differs from the usual widths."""
_DRAWS = 8
"""How many layers are built to see what their constructor draws."""
_PENALTIES = ("W", "g", "z", "W-OOB", "W-NPU", "g-NPU", "inalu")
"""Penalties that flags weigh."""

_UNCALLED = {
    "regualizer": "write regualizer_terms()",
    "regularizer": "write regualizer_terms()",
    "regularizer_terms": "write regualizer_terms()",
    "optimize": "write parameter_bounds() or after_step()",
    "param_groups": "all parameters have one --learning-rate",
}
"""Methods of layers that training does not call, and what to do."""
_OF_LAYERS = ("regualizer_terms", "parameter_bounds", "after_step", "observations")
_UNCALLED_OF_PLAIN = {
    **dict.fromkeys(
        (*_UNCALLED, *_OF_LAYERS), "inherit stable_nalu.Layer for penalties and bounds"
    ),
    "param_groups": _UNCALLED["param_groups"],
}

_OUTCOMES: dict[object, str | None] = {}


@contextmanager
def _as_usage_error(problem: str) -> Iterator[None]:
    """Turn whatever a layer raises into one line."""
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
    """Return the obstacle of a layer, of which some are built."""
    # Before a forward pass, which may leave tensors of its own behind.
    found = _unstacked_state(built)
    x = torch.rand(_RUNS, _ROWS, in_features) + 0.5
    alone, (spare, *_) = built[:_RUNS], built[_RUNS:]
    expected = _outputs(alone, x)
    _require_dense_gradients(spare, _outputs([spare.train()], x))
    _require_called_methods(spare)
    _require_known_names(spare)
    _require_numbers(spare)
    read = {name for module in spare.extended_modules() for name in module.clock_reads}
    if read:
        return f"a layer that reads self.{min(read)}"
    return found or _obstacle(alone, x, expected)


def _built(build, in_features, out_features, options) -> ExtendedTorchModule:
    name = getattr(build, "__name__", str(build))
    with _as_usage_error(f"{name} cannot be built"):
        layer = build(in_features, out_features, **options)
        layer.reset_parameters()
    _require_dense_parameters(name, layer)
    for module in layer.extended_modules():
        module.trace = {}  # What is logged may be of a forward pass.
    return layer.eval()


def _require_dense_parameters(layer: str, built: torch.nn.Module) -> None:
    """Refuse parameters that are not there yet, or not each number of them."""
    for name, parameter in built.named_parameters():
        if is_lazy(parameter) or parameter.is_meta:
            raise ValueError(f"{layer}: {name} has no numbers yet; build it with all its sizes")
        if parameter.layout != torch.strided:
            raise ValueError(f"{layer}: {name} is a sparse tensor; make it dense")


def _require_dense_gradients(layer: torch.nn.Module, outputs: torch.Tensor) -> None:
    """Refuse gradients that are sparse, which only some optimizers take."""
    learned = {name: p for name, p in layer.named_parameters() if p.requires_grad}
    if not learned or not outputs.requires_grad:
        return
    with _as_usage_error(f"{type(layer).__name__} has no gradient"):
        outputs.sum().backward()
    for name, parameter in learned.items():
        if parameter.grad is not None and parameter.grad.layout != torch.strided:
            raise ValueError(f"{type(layer).__name__}: {name} has a sparse gradient; make it dense")


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


def _require_called_methods(layer: torch.nn.Module) -> None:
    """Refuse methods that look as if training called them, and that it does not."""
    for module in layer.modules():
        is_ours = isinstance(module, ExtendedTorchModule)
        for method, remedy in (_UNCALLED if is_ours else _UNCALLED_OF_PLAIN).items():
            own = getattr(type(module), method, None)
            if callable(own) and own is not getattr(ExtendedTorchModule, method, None):
                name = type(module).__name__
                raise ValueError(f"{name} defines {method}(), which is not called; {remedy}")


def _require_known_names(layer: ExtendedTorchModule) -> None:
    """Refuse penalties that no flag weighs, and bounds of parameters that there are not."""
    for module in layer.extended_modules():
        name = type(module).__name__
        for key in module.regualizer_terms():
            if key not in _PENALTIES:
                known = ", ".join(_PENALTIES)
                raise ValueError(f"{name} has a penalty {key!r}; no flag weighs it, but {known}")
        for parameter in module.parameter_bounds():
            own = dict(module.named_parameters(recurse=False))
            if parameter not in own and getattr(module, parameter, own) is not None:
                raise ValueError(
                    f"{name} bounds {parameter!r}, which is not a parameter of its own"
                )


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


def _require_numbers(layer: ExtendedTorchModule) -> None:
    """Refuse penalties and logged numbers of one run that fail, or are more than one number."""
    name = type(layer).__name__
    with _as_usage_error(f"{name} cannot be observed"):
        measures = _measures(layer)
    for (_, what), measure in measures.items():
        with _as_usage_error(f"{name}: its {what} fails"):
            shape = tuple(torch.as_tensor(measure()).shape)
        if shape:
            raise ValueError(f"{name}: its {what} has shape {shape}; one number is expected")


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
        for name, value in vars(module).items():
            if not isinstance(value, torch.Tensor):
                continue
            others = [vars(part[path]).get(name) for part in parts]
            if not all(isinstance(o, torch.Tensor) and torch.equal(value, o) for o in others):
                return f"{name} is drawn, and no buffer; register_buffer makes it one"
    return None


def _stumble(error: BaseException) -> str:
    """Say what failed, and in which line of the layer's file."""
    said = (
        "it reads one number of a tensor (.item(), float, if)"
        if ".item()" in str(error)
        else in_words(error)
    )
    ours = str(Path(torch.__file__).parent), str(CHECKOUT / "stable_nalu")
    own = [f for f in extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    return f"{said} in line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else said


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


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
