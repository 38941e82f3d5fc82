"""What every layer and cell is built on, the layer of MLPs, and torch's recurrent cells.

These are torch's GRUCell, LSTMCell and RNNCell, over run dimensions. Shapes: x (*runs, batch, in),
h, c (*runs, batch, hidden), weight_ih (*runs, k hidden, in), weight_hh (*runs, k hidden, hidden),
biases (*runs, k hidden); k = 3 (GRU), 4 (LSTM), 1 (RNN).
"""

import copy
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path
from types import new_class
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule, Observation, weight_observations
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import SAFETENSORS
from stable_nalu.functional import Regualizer, kaiming_bound, linear, lstm_step, xavier_bound

EPSILON = 2.0**-23
"""Keeps logarithms and reciprocals finite; published code adds it in float64 runs, too."""

KNOWN = {"stable_nalu", "torch", "numpy", "scipy", *sys.stdlib_module_names}
"""Packages whose code and classes keep no state from pass to pass."""
PENALTIES = ("W", "g", "z", "W-OOB", "W-NPU", "g-NPU", "inalu")
"""Penalties that flags weigh."""


def foreign_modules(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """Return the modules of a model whose classes are users', of no known package, with paths."""
    parts = [(path, part, type(part).__module__) for path, part in model.named_modules()]
    return [(path, part) for path, part, home in parts if home.split(".")[0] not in KNOWN]


class OutputShapeError(ValueError):
    """A layer that is not of this package has mapped rows to something else than rows."""


class Layer(ExtendedTorchModule):
    """Map x `(*runs, batch, in_features)` to `(*runs, batch, out_features)`.

    A vector is mapped as a batch of one row. A subclass names its options in `option_defaults`, and
    makes its parameters in `make_parameters`, or takes options of its base as `**options`.

    Examples:
        >>> class Scale(sn.Layer):
        ...     def __init__(self, in_features, out_features, **options):
        ...         super().__init__(in_features, out_features, **options)
        ...         self.W = torch.nn.Parameter(torch.empty(out_features, in_features))
        ...     def reset_parameters(self):
        ...         torch.nn.init.ones_(self.W)
        ...     def forward(self, x):
        ...         return x @ self.W.mT
        >>> Scale(2, 1)(torch.tensor([3.0, 4.0])).item()
        7.0
    """

    default_name: ClassVar[str] = "nac"
    option_defaults: ClassVar[dict[str, Any]] = {}
    """Options by name, which are attributes. A class attribute of the name fixes one of a base."""
    positional: ClassVar[tuple[str, ...]] = ()
    """Options that may be given without their names, in the published order."""
    option_choices: ClassVar[dict[str, Collection[str]]] = {}
    """The values of those options that have a few."""
    follows_robustness_logging: ClassVar[bool] = False
    """Whether the robustness experiments always log weights as text."""
    _known: ClassVar[set[str]] = set()
    """The options of all layers."""
    _reads_reuse: ClassVar[bool] = False
    """Whether a forward pass can take the noise of the one before; others ignore the request."""
    _checks_output: ClassVar[bool] = False
    """True for classes that are not of this package: whether they map rows to rows is not known."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._checks_output = not cls.__module__.startswith("stable_nalu.")
        cls._reads_reuse = "reuse" in inspect.signature(cls.forward).parameters
        for base in cls.__bases__:
            own = cls.option_defaults
            cls.option_defaults = own | getattr(base, "option_defaults", {}) | own
            cls.option_choices = getattr(base, "option_choices", {}) | cls.option_choices
        cls.option_defaults = {n: v for n, v in cls.option_defaults.items() if n not in vars(cls)}
        Layer._known |= cls.option_defaults.keys()

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *values: Any,
        name: str | None = None,
        writer: Any = None,
        **options: Any,
    ):
        super().__init__(self.default_name, name=name, writer=writer)
        self.use_robustness_exp_logging = options.pop("use_robustness_exp_logging", False)
        if len(values) > len(self.positional):
            raise TypeError(f"{type(self).__name__} takes its options by name")
        options |= dict(zip(self.positional, values, strict=False))
        self.in_features = in_features
        self.out_features = out_features
        foreign = options.keys() - self.option_defaults.keys()
        if foreign and not any(outer.is_as_published for outer in type(self)._building):
            raise TypeError(f"{type(self).__name__} takes no option {min(foreign)}")
        if unread := foreign - Layer._known:
            listed = ", ".join(sorted(unread))
            warnings.warn(f"no layer reads the option(s) {listed}", stacklevel=3)
        # A published class hands on all that it is given.
        options = {n: v for n, v in options.items() if n not in foreign}
        self.set_options(self.option_defaults | options)
        self.make_parameters()

    def set_options(self, options: dict[str, Any]) -> None:
        vars(self).update(options)
        for option, known in self.option_choices.items():
            value = getattr(self, option)
            if value not in known:
                raise ValueError(f"{option} {value!r} is not one of {', '.join(known)}")

    def make_parameters(self) -> None:
        """Make parameters, and what else follows from the options."""

    @property
    def text_always(self) -> bool:
        return self.use_robustness_exp_logging and self.follows_robustness_logging

    def new_parameter(self, *shape: int) -> torch.nn.Parameter:
        """Return a parameter to be initialised, by default with W's shape `(out, in)`."""
        size = shape or (self.out_features, self.in_features)
        return torch.nn.Parameter(torch.full(size, math.nan))

    def __call__(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Run the layer on rows of the right size, or on a vector."""
        if not self._reads_reuse:
            kwargs.pop("reuse", None)
        if isinstance(x, torch.Tensor) and (x.ndim < 2 or x.shape[-1] != self.in_features):
            check_size(self, x, self.in_features)
            return self(x.unsqueeze(0), *args, **kwargs).squeeze(-2)
        y = super().__call__(x, *args, **kwargs)
        if self._checks_output:
            check_output(self, x, y, self.out_features)
        return y

    def exact_parameters(self) -> dict[str, torch.Tensor]:
        """Return, by name, values of own parameters that make the nearest exact weights."""
        return {}

    def snap(self) -> None:
        """Make every weight the exact one nearest; parameters without exact values stay."""
        units = [m for m in self.modules() if isinstance(m, Layer)]
        exact = [(unit, unit.exact_parameters()) for unit in units]
        if not any(values for _, values in exact):
            remedy = "freeze it by requires_grad_(False), or write exact_parameters()"
            raise UsageError(f"{type(self).__name__} has no exact weights; {remedy}")
        with torch.no_grad():
            for unit, values in exact:
                for name, value in values.items():
                    unit.get_parameter(name).copy_(value + 0.0)  # Without a zero below zero.

    def rounded(self) -> Self:
        """Return a copy whose weights are the exact ones nearest, such as 0 and 1 of an NMU."""
        unit = copy.deepcopy(self)
        unit.snap()
        return unit

    def freeze(self) -> Self:
        """Make the weights exact for good: no gradients, and no penalties. Return the layer."""
        self.snap()
        for parameter in self.parameters():
            parameter.requires_grad_(False)
            parameter.grad = None
        for unit in self.extended_modules():
            keys = tuple(unit.regualizer_terms())
            vars(unit).update(regualizer_terms=partial(dict.fromkeys, keys), parameter_bounds=dict)
        return self

    def export(self, path: str | Path) -> Path:
        """Write the layer as `.safetensors`, which `stable_nalu.load` reads."""
        path = Path(path)
        if path.suffix != SAFETENSORS:
            raise UsageError(f"path: {path} has no format; end its name in {SAFETENSORS}")
        known = option_parameters(type(self)).items()
        options = {name: v for name, o in known if (v := _option(self, name)) != o.default}
        sizes = [self.in_features, self.out_features]
        try:
            from .tensor_file import write_tensors

            write_tensors(path, self.state_dict(), unit=[type(self).__name__, sizes, options])
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        return path


def _option(layer: Layer, name: str) -> Any:
    """Return the value of an option; a layer keeps it, is built by it, or hands it on."""
    if name in layer._parameters:
        return layer._parameters[name] is not None
    kept = (vars(part)[name] for part in layer.modules() if name in vars(part))
    return next(kept, layer.option_defaults.get(name))


class WeightLayer(Layer):
    """A layer over one matrix of effective weights, by default the parameter W."""

    log_options: ClassVar[dict[str, bool]] = {}
    """What is logged of W other than usual."""

    def make_parameters(self) -> None:
        self.W = self.new_parameter()

    def weights(self) -> torch.Tensor:
        return self.W

    def observations(self) -> list[Observation]:
        options = {"text_always": self.text_always} | self.log_options
        return weight_observations("W", self.weights, **options)


class GatedInputs(Layer):
    """A layer with a gate g on each input, drawn to zero and one by the penalty `g-NPU`."""

    gates_per_input: ClassVar[int] = 1
    option_defaults: ClassVar = {"regualizer_gate": 0.0}

    def make_parameters(self) -> None:
        super().make_parameters()
        off = not self.regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=off, ndim=1)
        self.g = self.new_parameter(self.gates_per_input * self.in_features)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        return self.g.clamp(0.0, 1.0)

    def regualizer_terms(self):
        return super().regualizer_terms() | {"g-NPU": self._gate_bias.of(lambda: self.g)}

    def exact_parameters(self):
        return super().exact_parameters() | {"g": self.g.clamp(0.0, 1.0).round()}


SURE = 1e3
"""A logit of which the sigmoid is 1, that of its negative 0, in every precision."""


def sure(weights: torch.Tensor) -> torch.Tensor:
    """Return the logits of the nearest of 0 and 1."""
    return torch.where(weights > 0.5, SURE, -SURE)


class Cell(ExtendedTorchModule):
    """Map x `(*runs, batch, input_size)` and a state, `(*runs, batch, hidden_size)`, to a state."""

    def __init__(
        self, input_size: int, hidden_size: int, *, name: str | None = None, writer: Any = None
    ):
        super().__init__("recurrent", name=name, writer=writer)
        self.input_size = input_size
        self.hidden_size = hidden_size

    def __call__(self, x_t: torch.Tensor, state: Any) -> Any:
        """Run the cell on an input and a state, or a pair of states, of the right sizes."""
        check_size(self, x_t, self.input_size)
        for part in state if isinstance(state, tuple) else (state,):
            check_size(self, part, self.hidden_size, "states")
        return super().__call__(x_t, state)

    def unroll(self, x: torch.Tensor, state: Any) -> torch.Tensor:
        """Return h behind the last step of x `(*runs, batch, time, input_size)`."""
        for step in range(x.shape[-2]):
            state = self(x[..., step, :], state)
        return state[0] if isinstance(state, tuple) else state


class RecurrentCell(Cell):
    """Apply a layer to input and state: h_t = layer([x_t, h_{t-1}]). Subclasses name their `Op`.

    It takes the options of the layer.
    """

    Op: ClassVar[type[Layer]]

    option_defaults: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        name: str | None = None,
        writer: Any = None,
        **options: Any,
    ):
        super().__init__(input_size, hidden_size, name=name, writer=writer)
        # The name is handed on to the layer: tags of published runs repeat it at each level.
        self.op = self.Op(input_size + hidden_size, hidden_size, name=name, **options)

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return self.op(torch.cat((x_t, h_tm1), dim=-1))


@cache
def recurrent(layer: type[Layer]) -> type[RecurrentCell]:
    """Return the recurrent cell of a layer, which is called as the layer but `Cell`."""
    name = layer.__name__.removesuffix("Layer") + "Cell"
    about = f"Apply {layer.__name__} to input and state: h_t = layer([x_t, h_{{t-1}}]).\n\n"
    about += inspect.cleandoc(layer.__doc__ or "")
    defaults = {option: p.default for option, p in option_parameters(layer).items()}
    members = {"Op": layer, "option_defaults": defaults}
    members |= {"__module__": __package__, "__doc__": about}
    return new_class(name, (RecurrentCell,), exec_body=lambda body: body.update(members))


def check_size(module: torch.nn.Module, x: torch.Tensor, size: int, what: str = "inputs") -> None:
    """Refuse a tensor whose last dimension is not the size that a module was built for."""
    if x.ndim == 0 or x.shape[-1] != size:
        kind = type(module).__name__
        raise ValueError(f"{kind} takes {what} (..., {size}), not of shape {tuple(x.shape)}")


def check_output(module: torch.nn.Module, x: torch.Tensor, y: object, size: int) -> None:
    """Refuse what is not a row of so many numbers for each row of x."""
    wanted, shape = (*x.shape[:-1], size), getattr(y, "shape", None)
    if shape != wanted:
        found = type(y).__name__ if shape is None else f"a tensor of shape {tuple(shape)}"
        name, given = type(module).__name__, tuple(x.shape)
        raise OutputShapeError(
            f"{name} maps an input of shape {given} to {found}; {wanted} is expected"
        )


OF_EVERY_LAYER = {"name", "writer", "dtype", "device"}


def option_parameters(layer: type[ExtendedTorchModule]) -> dict[str, inspect.Parameter]:
    """Return a constructor's keyword-only parameters, except the ones every layer has."""
    parameters = inspect.signature(layer).parameters.values()
    named = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    return {name: p for name, p in named.items() if name not in OF_EVERY_LAYER}


class Activation(NamedTuple):
    """A function, and the bound of the uniform initial weights that goes with it."""

    function: Callable[[torch.Tensor], torch.Tensor]
    bound: Callable[[int, int], float]


ACTIVATIONS = {
    "Tanh": Activation(torch.tanh, partial(xavier_bound, gain=5.0 / 3.0)),
    "Sigmoid": Activation(torch.sigmoid, xavier_bound),
    "ReLU6": Activation(functional.relu6, kaiming_bound),
    "Softsign": Activation(functional.softsign, xavier_bound),
    "SELU": Activation(torch.selu, lambda fan_in, _: math.sqrt(3.0 / fan_in)),
    "ELU": Activation(functional.elu, kaiming_bound),
    "ReLU": Activation(torch.relu, kaiming_bound),
    "linear": Activation(lambda x: x, xavier_bound),
}
"""Functions, and the bound of the uniform initial weights that goes with each."""


class BasicLayer(WeightLayer):
    r"""Map inputs linearly and apply an activation: a layer of the MLPs that Madsen & Johansen
    (2020) and others compare with. `registry` names the source of each activation.

        y_o = activation(sum_i W_oi x_i + bias_o)

    Shapes: bias (*runs, out).
    """

    default_name = "basic"
    positional = ("activation", "bias")
    option_defaults: ClassVar = {"activation": "linear", "bias": True}
    option_choices: ClassVar = {"activation": ACTIVATIONS}
    ACTIVATIONS = frozenset(ACTIVATIONS)

    def make_parameters(self) -> None:
        super().make_parameters()
        bias = self.new_parameter(self.out_features) if vars(self).pop("bias") else None
        self.register_parameter("bias", bias)

    def reset_parameters(self) -> None:
        bound = ACTIVATIONS[self.activation].bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ACTIVATIONS[self.activation].function(linear(x, self.W, self.bias))


class TorchCell(Cell):
    """Parameters of a cell with `gates` stacked linear maps: names, order and initial range
    U(+-1 / sqrt(hidden)) are torch's, which draws in the constructor and at every reset.
    """

    gates: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, **of_every_layer: Any):
        super().__init__(input_size, hidden_size, **of_every_layer)
        rows = self.gates * hidden_size
        self.weight_ih = torch.nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh = torch.nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih = torch.nn.Parameter(torch.empty(rows))
        self.bias_hh = torch.nn.Parameter(torch.empty(rows))
        # Published runs drew here too: the numbers of later layers depend on it.
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def maps(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return linear(x, self.weight_ih, self.bias_ih), linear(h, self.weight_hh, self.bias_hh)


class GRUCell(TorchCell):
    r"""Map (x_t, h) to h_t: the gated recurrent unit of Cho et al. (2014, arXiv:1406.1078).

        r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z);   n = tanh(a_n + r b_n)
        h_t = (1 - z) n + z h

    with a = weight_ih x_t + bias_ih and b = weight_hh h + bias_hh.
    """

    gates = 3

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        (a_r, a_z, a_n), (b_r, b_z, b_n) = (m.chunk(3, dim=-1) for m in self.maps(x_t, h_tm1))
        reset, update = torch.sigmoid(a_r + b_r), torch.sigmoid(a_z + b_z)
        new = torch.tanh(a_n + reset * b_n)
        return new + update * (h_tm1 - new)


class LSTMCell(TorchCell):
    r"""Map (x_t, (h, c)) to (h_t, c_t): the LSTM of Hochreiter & Schmidhuber (1997).

        i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of a + b
        c_t = f c + i g;   h_t = o tanh(c_t)

    with a = weight_ih x_t + bias_ih and b = weight_hh h + bias_hh.
    """

    gates = 4

    def forward(
        self, x_t: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        h_tm1, c_tm1 = state
        return lstm_step(torch.add(*self.maps(x_t, h_tm1)), c_tm1)


class RNNTanhCell(TorchCell):
    r"""Map (x_t, h) to h_t: the recurrent cell of Elman (1990), with the hyperbolic tangent.

        h_t = tanh(weight_ih x_t + bias_ih + weight_hh h + bias_hh)

    The names of weights and biases are torch's.
    """

    gates = 1

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.add(*self.maps(x_t, h_tm1)))


class RNNReLUCell(TorchCell):
    r"""Map (x_t, h) to h_t: the recurrent cell of Elman (1990), with the rectifier.

        h_t = relu(weight_ih x_t + bias_ih + weight_hh h + bias_hh)

    The names of weights and biases are torch's.
    """

    gates = 1

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.add(*self.maps(x_t, h_tm1)))
