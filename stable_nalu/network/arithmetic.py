"""Networks of the arithmetic scripts, for vectors and sequences, what they log and penalise."""

from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.functional import in_log_space, mean_over
from stable_nalu.layer.npu import MCLSTMCell
from stable_nalu.layer.registry import (
    GeneralizedCell,
    GeneralizedLayer,
    UnitNames,
    activation_names,
)


class ArithmeticNetwork(ExtendedTorchModule):
    """A network of namespace `network` whose activations `x`, `z_1`, `z_2` can be summarised.

    With `nac_mul="max-safe"` it penalises first-layer outputs z_1 below 1, under the key `z`.
    """

    UNIT_NAMES = UnitNames("layer")
    initialises_itself = True
    forgets: ClassVar = {"z_1_stored": None}

    def __init__(self, nac_mul: str, eps: float, writer: Any = None):
        super().__init__("network", writer=writer)
        self.nac_mul = nac_mul
        self.eps = eps
        self.z_1_stored: torch.Tensor | None = None

    def keep(self, **activations: torch.Tensor) -> None:
        """Keep activations: z_1 of the last pass, and all of them when they are traced."""
        # Code that is being compiled must not change the module without need.
        if self.nac_mul == "max-safe" or not torch.compiler.is_compiling():
            self.z_1_stored = activations.get("z_1")
        if self.trace is not None:
            self.trace.update({name: z.detach() for name, z in activations.items()})

    def regualizer_terms(self):
        return {"z": self._mean_below_one} if self.nac_mul == "max-safe" else {}

    def _mean_below_one(self) -> torch.Tensor:
        assert self.z_1_stored is not None, "a penalty follows a forward pass"
        return mean_over(torch.relu(1 - self.z_1_stored), 2)

    def observations(self) -> list[Observation]:
        return [
            Observation("summary", name, lambda z=z: z) for name, z in (self.trace or {}).items()
        ]


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


class SingleLayerNetwork(ArithmeticNetwork):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, output_size)`.

    A unit of the zoo maps input to output directly. `MNAC` here is the multiplicative NAC of the
    NALU paper, exp(NAC(log(|x| + eps))). A plain activation (ReLU, …) becomes an MLP: input ->
    hidden, `mlp_depth` more hidden layers, then a linear layer to the output.

    published_container: layers have no penalties, bounds and hooks, as in nalm-robust-nmu, whose
    container hides them.
    """

    published_state: ClassVar = {
        "layer_1.0.": "layer_1.",
        **{f"layer_1.{i + 1}.": f"layer_{i}{i + 1}." for i in range(9)},
    }

    def __init__(
        self,
        unit_name: str,
        input_size: int = 2,
        output_size: int = 1,
        writer: Any = None,
        nac_mul: str = "none",
        eps: float = 1e-7,
        *,
        hidden_size: int = 2,
        mlp_depth: int = 0,
        published_container: bool = False,
        **layer_options,
    ):
        super().__init__(nac_mul, eps, writer)
        self.unit_name = unit_name
        self.input_size = input_size
        layer_options |= {"eps": eps, "writer": self.writer}
        self.is_mlp = unit_name in activation_names()
        self.multiplies_logs = unit_name == "MNAC"
        first = "NAC" if self.multiplies_logs else unit_name
        width = hidden_size if self.is_mlp else output_size
        self.layer_1 = GeneralizedLayer(input_size, width, first, name="layer_1", **layer_options)
        self.hidden = [f"layer_{i}{i + 1}" for i in range(mlp_depth)]
        for name in self.hidden:
            layer = GeneralizedLayer(width, width, unit_name, name=name, **layer_options)
            self.add_module(name, layer)
        if self.is_mlp:
            self.layer_2 = GeneralizedLayer(
                width, output_size, "linear", name="layer_2", **layer_options
            )
        if published_container:
            for module in set(self.extended_modules()) - {self}:
                module.regualizer_terms = module.parameter_bounds = module.after_step = _nothing
        self.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.multiplies_logs:
            z_1 = in_log_space(self.layer_1, x, "normal", self.eps)
        else:
            z_1 = self.layer_1(x)
        for name in self.hidden:
            z_1 = getattr(self, name)(z_1)
        if not self.is_mlp:
            self.keep(x=x, z_1=z_1)
            return z_1
        z_2 = self.layer_2(z_1)
        self.keep(x=x, z_1=z_1, z_2=z_2)
        return z_2


def second_layer(unit_name: str, nac_mul: str) -> str:
    """Return the key of the second layer, the multiplicative form that `nac_mul` asks for."""
    plain = "linear" if unit_name in activation_names() else unit_name
    forms = {"mnac": unit_name[:-3] + "MNAC", "npu": "NPU", "real-npu": "RealNPU"}
    if nac_mul not in (known := (*forms, "none", "normal", "safe", "max-safe")):
        raise ValueError(f"nac_mul {nac_mul!r} is not one of {', '.join(known)}")
    return forms.get(nac_mul, plain)


class SimpleFunctionStaticNetwork(ArithmeticNetwork):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, 1)`.

    z_1 = layer_1(x); then layer_2(z_1), or exp(layer_2(log z_1)) for `nac_mul` normal, safe and
    max-safe. `first_layer` replaces the unit of layer 1; other options go to the layers.
    """

    def __init__(
        self,
        unit_name: str,
        input_size: int = 100,
        hidden_size: int = 2,
        writer: Any = None,
        first_layer: str | None = None,
        nac_mul: str = "none",
        eps: float = 1e-7,
        **layer_options,
    ):
        super().__init__(nac_mul, eps, writer)
        self.unit_name = unit_name
        self.input_size = input_size
        layer_options |= {"eps": eps, "writer": self.writer}
        self.layer_1 = GeneralizedLayer(
            input_size, hidden_size, first_layer or unit_name, name="layer_1", **layer_options
        )
        self.layer_2 = GeneralizedLayer(
            hidden_size, 1, second_layer(unit_name, nac_mul), name="layer_2", **layer_options
        )
        self.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z_1 = self.layer_1(x)
        if self.nac_mul in ("normal", "safe", "max-safe"):
            z_2 = in_log_space(self.layer_2, z_1, self.nac_mul, self.eps)
        else:
            z_2 = self.layer_2(z_1)
        self.keep(x=x, z_1=z_1, z_2=z_2)
        return z_2


MC_LSTM = "MC-LSTM"
_STATES = {"LSTM": ("h_t0", "c_t0"), MC_LSTM: ("c_t0",)}
_LINEAR_OUTPUT = ("GRU", "LSTM", "RNN-tanh", "RNN-ReLU", "RNN-linear", MC_LSTM)


def readout_of(unit_name: str) -> str:
    """Return the unit that reads a cell, if no other is named."""
    return "linear" if unit_name in _LINEAR_OUTPUT else unit_name


def cell_of(unit_name: str, inputs: int, hidden: int, name: str, **options: Any) -> Any:
    """Return a recurrent cell of the zoo, or an MC-LSTM."""
    if unit_name == MC_LSTM:
        return MCLSTMCell(inputs, hidden, name=name, auxiliary=options.get("auxiliary", 0))
    return GeneralizedCell(inputs, hidden, unit_name, name=name, **options)


class SimpleFunctionRecurrentNetwork(ExtendedTorchModule):
    """x `(*runs, batch, time, input_size)` -> `(*runs, batch, 1)`.

    h_0 is trainable; h_t = cell(x_t, h_{t-1}); y = output_layer(h_T). An LSTM carries a pair
    (h, c), both trainable at the start; an MC-LSTM starts from its c alone. `readout` is the unit
    of the output layer, by default the cell's unit, or linear. The penalty `L2` is `readout_l2`
    times half the mean square of the weights of a linear one.
    """

    UNIT_NAMES = UnitNames("cell")
    initialises_itself = True
    published_state: ClassVar = {"zero_state.": ""}

    def __init__(
        self,
        unit_name: str,
        input_size: int = 10,
        writer: Any = None,
        *,
        hidden_size: int = 2,
        readout: str | None = None,
        readout_l2: float = 0.0,
        **layer_options,
    ):
        super().__init__("network", writer=writer)
        self.unit_name = unit_name
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.readout_l2 = readout_l2
        for name in self._state_names():
            self.register_parameter(name, torch.nn.Parameter(torch.empty(self.hidden_size)))
        layer_options["writer"] = self.writer
        # The spelling is the one of published state dictionaries.
        own = {"name": "recurrent_layer", **layer_options}
        self.recurent_cell = cell_of(unit_name, input_size, self.hidden_size, **own)
        output_unit = readout or readout_of(unit_name)
        self.output_layer = GeneralizedLayer(
            self.hidden_size, 1, output_unit, name="output_layer", **layer_options
        )
        self.reset_parameters()

    def _state_names(self) -> tuple[str, ...]:
        return _STATES.get(self.unit_name, ("zero_state",))

    def reset_parameters(self) -> None:
        for name in self._state_names():
            torch.nn.init.zeros_(getattr(self, name))
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:-2], self.hidden_size)
        initial = [getattr(self, n).unsqueeze(-2).expand(shape) for n in self._state_names()]
        state = (initial[0], initial[-1]) if self.unit_name in _STATES else initial[0]
        return self.output_layer(self.recurent_cell.unroll(x, state))

    def regualizer_terms(self):
        return {"L2": self._size_of_readout} if self.readout_l2 else {}

    def _size_of_readout(self) -> torch.Tensor:
        return self.readout_l2 / 2 * mean_over(self.output_layer.layer.W**2, 2)
