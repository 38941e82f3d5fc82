"""An image network that reads digits one by one, and a cell that accumulates what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import in_log_space
from stable_nalu.layer.generalized import GeneralizedCell

from .arithmetic import second_layer
from .sparse_gradients import pooled_convolution, rectified_linear

NONE, SOLVED, PASS_THROUGH = "none", "solved-accumulator", "pass-through"
START_VALUES = {"none": 0.0, "normal": 1.0, "mnac": 1.0}
EPSILON = 1e-7


class RegressionMnistNetwork(ExtendedTorchModule):
    """x `(batch, 1, 28, 28)` -> `(batch, outputs)`, without an activation at the end.

    Convolutions of 20 and 50 filters of 5 x 5, each followed by ReLU and pooling of 2 x 2; a hidden
    layer of 500. Parameters have torch's own initial values.
    """

    def __init__(self, outputs: int = 1):
        super().__init__("regression_mnist")
        # Published runs drew in torch's constructors too, and later random numbers depend on it.
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.fc1 = torch.nn.Linear(800, 500)
        self.fc2 = torch.nn.Linear(500, outputs)

    def reset_parameters(self) -> None:
        for layer in (self.conv1, self.conv2, self.fc1, self.fc2):
            layer.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = pooled_convolution(x, self.conv1.weight, self.conv1.bias)
        x = pooled_convolution(x, self.conv2.weight, self.conv2.bias)
        return self.fc2(rectified_linear(x.flatten(1), self.fc1.weight, self.fc1.bias))


class SequentialDigitNetwork(ExtendedTorchModule):
    """x `(batch, time, channels, height, width)` -> labels and accumulated labels.

    Labels are `(batch, time, outputs)`; what is accumulated after each of them is
    `(batch, time, 1)`.

    l_t = image2label(x_t); h_t = cell(l_t, h_{t-1}), for `nac_mul="normal"` in log space. The cell
    starts at 0, or at 1 where it multiplies; of an LSTM's pair of states, h is the output.

    image_network: makes the image network, given its number of outputs.
    model_simplification: `solved-accumulator` multiplies (or, for `nac_mul="none"`, adds) exactly;
        `pass-through` gives the labels.
    """

    def __init__(
        self,
        image_network: Callable[[int], torch.nn.Module],
        unit_name: str,
        outputs: int = 1,
        nac_mul: str = "none",
        model_simplification: str = NONE,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = second_layer(unit_name, nac_mul)
        self.outputs = outputs
        self.nac_mul = nac_mul
        self.model_simplification = model_simplification
        self.is_lstm = self.unit_name == "LSTM"
        self.image2label = image_network(outputs)
        for name in self._state_names():
            self.register_buffer(name, torch.full((1,), START_VALUES[nac_mul]))
        if model_simplification == NONE:
            # The spelling is the one of published state dictionaries.
            self.recurent_cell = GeneralizedCell(outputs, 1, self.unit_name, **layer_options)
        self.step_ended: Callable[[], None] | None = None
        """Called after every step of the cell, to look at what it has just done."""

    def _state_names(self) -> tuple[str, ...]:
        return ("zero_state_h", "zero_state_c") if self.is_lstm else ("zero_state",)

    @property
    def reads_images_alone(self) -> bool:
        """Return whether the label of an image does not depend on the others of its batch."""
        network = self.image2label
        return isinstance(network, ExtendedTorchModule) and network.evaluates_rows_independently

    def labels(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the image network reads, `(batch, time, outputs)`."""
        if self.reads_images_alone:
            return self.image2label(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        # Published runs read one time step at a time: batch statistics are those of a step.
        return torch.stack([self.image2label(step) for step in x.unbind(1)], dim=1)

    def accumulate(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the accumulator's state after every label, `(batch, time, 1)`."""
        if self.model_simplification == PASS_THROUGH:
            return labels
        if self.model_simplification == SOLVED:
            return labels.cumsum(1) if self.nac_mul == "none" else labels.cumprod(1)
        initial = [getattr(self, name).expand(len(labels), 1) for name in self._state_names()]
        state: Any = tuple(initial) if self.is_lstm else initial[0]
        states = []
        for label in labels.unbind(1):
            state = self._step(label, state)
            states.append(state[0] if self.is_lstm else state)
            if self.step_ended is not None:
                self.step_ended()
        return torch.stack(states, dim=1)

    def _step(self, label: torch.Tensor, state: Any) -> Any:
        if self.nac_mul != "normal":
            return self.recurent_cell(label, state)

        def add(both: torch.Tensor) -> torch.Tensor:
            return self.recurent_cell(both[:, : self.outputs], both[:, self.outputs :])

        return in_log_space(add, torch.cat((label, state), dim=-1), "normal", EPSILON)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        labels = self.labels(x)
        return labels, self.accumulate(labels)
