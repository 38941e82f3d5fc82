"""Networks that read images of digits: one by one, with a cell that counts or adds up, or at once.

Digits of a sequence are accumulated; the even digits of a picture are counted.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import in_log_space, linear
from stable_nalu.layer.basic import TorchCell
from stable_nalu.layer.generalized import GeneralizedCell, GeneralizedLayer

from .arithmetic import second_layer
from .dense import Convolution, Dense, pooled
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


READERS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "small": ((10, 20), 320, 50),
    "large": ((20, 50), 800, 500),
    "mlp8": ((), 64, 64),
}
"""Image network -> filters of its convolutions, what the hidden layer reads, and its size.

The first two are PyTorch's examples of 2017 and of 2018, the last one reads images of 8 x 8.
"""


class DigitReader(ExtendedTorchModule):
    """x `(images, 1, side, side)` -> `(images, outputs)`, through a network of `READERS`.

    Convolutions of 5 x 5, each pooled by 2 x 2, if there are any, and a hidden layer, ReLU
    throughout. dropout: the probability with which whole channels of the second convolution, and
    units of the hidden layer, are left out of an update; PyTorch's example of 2017 has 0.5.
    """

    def __init__(self, outputs: int, cnn: str, dropout: float = 0.0):
        super().__init__("reader")
        self.dropout = dropout
        filters, flat, hidden = READERS[cnn]
        self.convolves = bool(filters)
        if filters:
            self.first = Convolution(1, filters[0], 5, name="first")
            self.second = Convolution(filters[0], filters[1], 5, name="second")
        self.hidden = Dense(flat, hidden, "ReLU", "hidden")
        self.output = Dense(hidden, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.convolves:
            x = self.second(torch.relu(pooled(self.first(x))))
            x = torch.relu(pooled(self._dropped(x, 2)))
        return self.output(self._dropped(self.hidden(x.flatten(-3)), 0))

    def _dropped(self, x: torch.Tensor, inner: int) -> torch.Tensor:
        """Return x without some of its channels, whose `inner` dimensions go as one.

        The rest is larger, so that the mean stays.
        """
        if not (self.dropout and self.allow_random):
            return x
        shape = x.shape[x.ndim - inner - 2 : x.ndim - inner]
        noise = self.random.uniform(tuple(shape), 0, 1, x)
        kept = (noise >= self.dropout).to(x) / (1 - self.dropout)
        return x * kept.reshape(*kept.shape, *[1] * inner)


class CountingNetwork(ExtendedTorchModule):
    """Digit images, in sequences, -> what a cell has counted or added up.

    f_t = reader(x_t); h_t = cell(f_t, h_{t-1}) from h = 0; y_t = h_t or, for a cell of torch
    (LSTM, GRU, RNN), a dense layer of it without an activation.

    Shapes: x `(batch, time, 1, side, side)`, f `(batch, time, features)`,
    y `(batch, time or 1, outputs)`.
    """

    def __init__(
        self,
        unit_name: str,
        outputs: int,
        features: int,
        cnn: str = "small",
        dropout: float = 0.0,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.outputs = outputs
        self.reader = DigitReader(features, cnn, dropout)
        self.cell = GeneralizedCell(features, outputs, unit_name, name="cell", **layer_options)
        is_torch = isinstance(self.cell.cell, TorchCell)
        self.read_out = Dense(outputs, outputs, name="read_out") if is_torch else None

    def read(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the image network makes of x, all images in one pass."""
        return self.reader(x.flatten(-5, -4)).unflatten(-2, x.shape[-5:-3])

    def accumulate(self, features: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        """Return the outputs of the last step alone, or of every one."""
        h = features.new_zeros(*features.shape[:-2], self.outputs)
        state: Any = (h, h) if self.unit_name == "LSTM" else h
        states = []
        for step in features.unbind(-2):
            state = self.cell(step, state)
            h = state[0] if isinstance(state, tuple) else state
            if every:
                states.append(h)
        found = torch.stack(states, -2) if every else h.unsqueeze(-2)
        if self.read_out is None:
            return found
        return self.read_out(found.flatten(-3, -2)).unflatten(-2, found.shape[-3:-1])

    def forward(self, x: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        return self.accumulate(self.read(x), every=every)


HEADS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "linear": lambda w: w,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
"""What dense last layers do to their weights; any other name is a unit's key."""

FEATURES = 32


class EvenDigitNetwork(ExtendedTorchModule):
    """Pictures x `(batch, size, size)` -> scores `(batch, classes)`.

    The network of a public repository that counts digits as Segui et al. (2015) do: convolutions
    of 8 kernels (7 x 7, stride 2, then the largest of 2 x 2), 16 (3 x 3, dilated by 2), 32 (3 x 3)
    and 1 (1 x 1), a dense layer of 32, each with a ReLU, and the head.

    Weights start as torch's do, those of the last convolution without signs: else its one channel
    is 0 everywhere in some networks, which never learn. Networks of one seed start alike but for
    their heads.
    """

    def __init__(
        self,
        unit_name: str,
        image_size: int = 100,
        classes: int = 6,
        *,
        bias: bool = True,
        **layer_options,
    ):
        super().__init__("network")
        self.first = HalvingConvolution(1, 8, 7, name="first")
        self.second = Convolution(8, 16, 3, name="second", padding=2, dilation=2)
        self.third = Convolution(16, 32, 3, name="third", padding=1)
        self.fourth = Dense(32, 1, "ReLU", "fourth")
        self.dense = Dense((math.ceil(image_size / 2) // 2) ** 2, FEATURES, "ReLU")
        with torch.random.fork_rng(devices=[]):
            self.head = Head(unit_name, FEATURES, classes, bias=bias, **layer_options)

    def reset_parameters(self) -> None:
        for module in (self.first, self.second, self.third, self.fourth, self.dense):
            module.reset_parameters()
        with torch.no_grad():
            self.fourth.W.abs_()
            self.fourth.bias.zero_()
        # Heads draw different amounts of random numbers.
        with torch.random.fork_rng(devices=[]):
            self.head.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the head reads, `(batch, 32)`."""
        # Pooling and ReLU commute.
        h = torch.relu(pooled(self.first(x)))
        h = torch.relu(self.third(torch.relu(self.second(h))))
        # A kernel of 1 x 1 is a dense layer of the channels.
        h = h.movedim(-3, -1)
        pixels = self.fourth(h.flatten(0, 2))
        return self.dense(pixels.reshape(len(h), -1))


class HalvingConvolution(Convolution):
    """x `(batch, height, width)` -> `(batch, kernels, height / 2, width / 2)`.

    A convolution of stride 2 of pictures with one channel, padded by 3: computed on blocks of 2 x 2
    pixels as channels, which takes half the time.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sides = [side for n in x.shape[:-3:-1] for side in (4, 2 + n % 2)]
        x = functional.pixel_unshuffle(functional.pad(x, sides).unsqueeze(-3), 2)
        W = functional.pixel_unshuffle(functional.pad(self.W, (1, 0, 1, 0)), 2)
        # Where channels lie side by side, all that follows is quicker.
        x = x.contiguous(memory_format=torch.channels_last)
        return functional.conv2d(x, W, self.bias)


class Head(ExtendedTorchModule):
    """h `(batch, inputs)` -> scores `(batch, outputs)`: W h + b or unit(h) + b.

    unit_name: of `HEADS`, where W is what its function makes of the weights, or a unit's key.
    Weights start uniform in +-1 / sqrt(inputs), biases at 0, units as they do everywhere.
    """

    def __init__(
        self, unit_name: str, inputs: int, outputs: int, *, bias: bool = True, **layer_options
    ):
        super().__init__("head")
        self.unit_name, self.in_features, self.out_features = unit_name, inputs, outputs
        if unit_name in HEADS:
            self.W_hat = torch.nn.Parameter(torch.empty(outputs, inputs))
        else:
            self.layer = GeneralizedLayer(inputs, outputs, unit_name, **layer_options)
        own = torch.nn.Parameter(torch.empty(outputs)) if bias else None
        self.register_parameter("bias", own)

    def reset_parameters(self) -> None:
        if self.unit_name in HEADS:
            bound = 1 / math.sqrt(self.in_features)
            torch.nn.init.uniform_(self.W_hat, -bound, bound)
        else:
            self.layer.reset_parameters()
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        if self.unit_name in HEADS:
            return linear(h, HEADS[self.unit_name](self.W_hat), self.bias)
        y = self.layer(h)
        return y if self.bias is None else y + self.bias
