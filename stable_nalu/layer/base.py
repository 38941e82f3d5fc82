"""What every layer and recurrent cell is built on, and the cell that any layer makes."""

import inspect
from collections.abc import Collection
from functools import cache
from types import new_class
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation, weight_observations

EPSILON = 2.0**-23
"""Keeps logarithms and reciprocals finite; published code adds it in float64 runs, too."""


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
    option_choices: ClassVar[dict[str, Collection[str]]] = {}
    """The values of those options that have a few."""
    _checks_output: ClassVar[bool] = False
    """True for classes that are not of this package: whether they map rows to rows is not known."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._checks_output = not cls.__module__.startswith("stable_nalu.")
        for base in cls.__bases__:
            own, of_base = cls.option_defaults, getattr(base, "option_defaults", {})
            new = {name: value for name, value in own.items() if name not in of_base}
            cls.option_defaults = new | of_base | own
            cls.option_choices = getattr(base, "option_choices", {}) | cls.option_choices
        cls.option_defaults = {n: v for n, v in cls.option_defaults.items() if n not in vars(cls)}

    def __init__(
        self, in_features: int, out_features: int, *, name: str | None = None, **options: Any
    ):
        super().__init__(self.default_name, name)
        self.in_features = in_features
        self.out_features = out_features
        for option in options.keys() - self.option_defaults.keys():
            raise TypeError(f"{type(self).__name__} takes no option {option}")
        self.set_options(self.option_defaults | options)
        self.make_parameters()

    def set_options(self, options: dict[str, Any]) -> None:
        """Keep options as attributes."""
        vars(self).update(options)
        for option, known in self.option_choices.items():
            value = getattr(self, option)
            if value not in known:
                raise ValueError(f"{option} {value!r} is not one of {', '.join(known)}")

    def make_parameters(self) -> None:
        """Make parameters, and what else follows from the options."""

    def new_parameter(self, *shape: int) -> torch.nn.Parameter:
        """Return a parameter of a shape, by default that of W, to be initialised."""
        return torch.nn.Parameter(torch.empty(shape or (self.out_features, self.in_features)))

    def __call__(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Run the layer on rows of the right size, or on a vector."""
        if isinstance(x, torch.Tensor) and (x.ndim < 2 or x.shape[-1] != self.in_features):
            check_size(self, x, self.in_features)
            return self(x.unsqueeze(0), *args, **kwargs).squeeze(-2)
        y = super().__call__(x, *args, **kwargs)
        if self._checks_output:
            check_output(self, x, y, self.out_features)
        return y


class WeightLayer(Layer):
    """A layer over one matrix of weights, which is logged as W."""

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return self.W

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights)


class Cell(ExtendedTorchModule):
    """Map x `(*runs, batch, input_size)` and a state, `(*runs, batch, hidden_size)`, to a state."""

    def __init__(self, input_size: int, hidden_size: int, *, name: str | None = None):
        super().__init__("recurrent", name)
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
    """Apply a layer to input and state: h_t = layer([x_t, h_{t-1}]); subclasses name their `Op`.

    Options are those of the layer.
    """

    Op: ClassVar[type[Layer]]

    option_defaults: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, input_size: int, hidden_size: int, *, name: str | None = None, **options: Any
    ):
        super().__init__(input_size, hidden_size, name=name)
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


OF_EVERY_LAYER = {"name", "dtype", "device"}


def option_parameters(layer: type[ExtendedTorchModule]) -> dict[str, inspect.Parameter]:
    """Return the keyword-only parameters of a constructor, aside from those of every layer."""
    parameters = inspect.signature(layer).parameters.values()
    named = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    return {name: p for name, p in named.items() if name not in OF_EVERY_LAYER}
