"""Networks that read sequences: of digit images, accumulated by a cell, and of number words."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.images import torchvision
from stable_nalu.functional import in_log_space
from stable_nalu.layer.registry import GeneralizedCell, GeneralizedLayer, UnitNames

from .arithmetic import second_layer
from .dense import Dense
from .sparse_gradients import pooled_convolution, rectified_linear

NONE, SOLVED, PASS_THROUGH = "none", "solved-accumulator", "pass-through"
START_VALUES = {"none": 0.0, "normal": 1.0, "mnac": 1.0}
EPSILON = 1e-7


class RegressionMnistNetwork(ExtendedTorchModule):
    """x `(batch, 1, 28, 28)` -> `(batch, outputs)`, without an activation at the end.

    Convolutions of 20 and 50 filters of 5 x 5, each followed by ReLU and pooling of 2 x 2; a hidden
    layer of 500. Parameters have torch's own initial values. `softmax_transform`, with 0 outputs,
    answers with the expected digit.
    """

    def __init__(
        self,
        mnist_digits: Sequence[int] = range(10),
        softmax_transform: bool = False,
        mnist_outputs: int = 1,
    ):
        super().__init__("cnn")
        if softmax_transform and mnist_outputs:
            raise ValueError("softmax_transform answers with one digit: it needs mnist_outputs=0")
        # Published runs drew in torch's constructors too, and later random numbers depend on it.
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.fc1 = torch.nn.Linear(800, 500)
        self.fc2 = torch.nn.Linear(500, mnist_outputs or len(mnist_digits))
        digits = torch.tensor([[float(digit)] for digit in mnist_digits])
        self.register_buffer("fc3", digits if softmax_transform else None)

    def reset_parameters(self) -> None:
        for layer in (self.conv1, self.conv2, self.fc1, self.fc2):
            layer.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = pooled_convolution(x, self.conv1.weight, self.conv1.bias)
        x = pooled_convolution(x, self.conv2.weight, self.conv2.bias)
        x = self.fc2(rectified_linear(x.flatten(1), self.fc1.weight, self.fc1.bias))
        return x if self.fc3 is None else torch.softmax(x, dim=1) @ self.fc3


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

    UNIT_NAMES = UnitNames("cell")
    initialises_itself = True

    def __init__(
        self,
        image_network: Callable[[int], torch.nn.Module],
        unit_name: str,
        outputs: int = 1,
        nac_mul: str = "none",
        model_simplification: str = NONE,
        eps: float = EPSILON,
        writer: Any = None,
        **layer_options,
    ):
        super().__init__("network", writer=writer)
        self.eps = eps
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
            layer_options["writer"] = self.writer
            self.recurent_cell = GeneralizedCell(outputs, 1, self.unit_name, **layer_options)
        self.step_ended: Callable[[], None] | None = None
        """Called after every step of the cell, to look at what it has just done."""
        self.reset_parameters()

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

        return in_log_space(add, torch.cat((label, state), dim=-1), "normal", self.eps)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        labels = self.labels(x)
        return labels, self.accumulate(labels)


class SequentialMnistNetwork(SequentialDigitNetwork):
    """Reads sequences of MNIST images by a `RegressionMnistNetwork`."""

    def __init__(
        self,
        unit_name: str,
        output_size: int = 1,
        writer: Any = None,
        mnist_digits: Sequence[int] = range(10),
        softmax_transform: bool = False,
        mnist_outputs: int = 1,
        model_simplification: str = NONE,
        nac_mul: str = "none",
        eps: float = EPSILON,
        **layer_options: Any,
    ):
        image_network = partial(RegressionMnistNetwork, mnist_digits, softmax_transform)
        own = nac_mul, model_simplification, eps, writer
        super().__init__(image_network, unit_name, mnist_outputs, *own, **layer_options)


class SequentialSvhnNetwork(SequentialDigitNetwork):
    """Reads sequences of SVHN images by a residual network of torchvision, such as resnet18."""

    def __init__(
        self,
        unit_name: str,
        output_size: int = 1,
        writer: Any = None,
        svhn_outputs: int = 1,
        resnet: str = "resnet18",
        model_simplification: str = NONE,
        nac_mul: str = "none",
        eps: float = EPSILON,
        **layer_options: Any,
    ):
        def image_network(outputs: int) -> torch.nn.Module:
            return getattr(torchvision().models, resnet)(num_classes=outputs)

        own = nac_mul, model_simplification, eps, writer
        super().__init__(image_network, unit_name, svhn_outputs, *own, **layer_options)


PADDING_ID = 0


class NumberTranslationNetwork(ExtendedTorchModule):
    """Token ids `(*runs, batch, time)` -> value `(*runs, batch, 1)`.

    Each token is embedded and fed to an LSTM; the output cell `unit_name` accumulates over the
    LSTM's outputs. All states start at zero and stay as they are at padding (id 0), so the answer
    is the output cell's state after the last word (of an LSTM's pair, the first).

    Departs from the published code: no. With its seed, the NALU cell and no penalty this network
    gives the two losses that are known of the published one, to all printed digits.
    """

    UNIT_NAMES = UnitNames("cell")
    initialises_itself = True
    published_state: ClassVar = {
        "embedding.weight": "embedding",
        **{f"lstm_cell.{kind}_": f"lstm_cell.cell.{kind}_" for kind in ("weight", "bias")},
    }

    def __init__(
        self,
        unit_name: str,
        embedding_size: int = 2,
        hidden_size: int = 2,
        dictionary_size: int = 30,
        writer: Any = None,
        **layer_options,
    ):
        super().__init__("network", writer=writer)
        self.unit_name = unit_name
        self.outputs_pair = unit_name == "LSTM"
        self.register_buffer("lstm_zero_state_h", torch.zeros(hidden_size))
        self.register_buffer("lstm_zero_state_c", torch.zeros(hidden_size))
        self.register_buffer("output_zero_state", torch.zeros(1))
        self.embedding = torch.nn.Parameter(torch.empty(dictionary_size, embedding_size))
        # Published runs drew here too, as the LSTM does, and later random numbers depend on it.
        torch.nn.init.normal_(self.embedding)
        self.lstm_cell = GeneralizedCell(embedding_size, hidden_size, "LSTM", name="lstm_layer")
        self.output_cell = GeneralizedCell(
            hidden_size, 1, unit_name, self.writer, name="recurrent_output", **layer_options
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.normal_(self.embedding)
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zeros: Any = self.lstm_zero_state_h, self.lstm_zero_state_c, self.output_zero_state
        h, c, zero = (own.unsqueeze(-2).expand(*x.shape[:-1], own.shape[-1]) for own in zeros)
        output: Any = (zero, zero) if self.outputs_pair else zero
        for t in range(x.shape[-1]):
            token = x[..., t].unsqueeze(-1)
            is_word = token != PADDING_ID
            embedded = self.embedding.take_along_dim(token, dim=-2)
            h, c = _keep_at_padding(is_word, self.lstm_cell(embedded, (h, c)), (h, c))
            output = _keep_at_padding(is_word, self.output_cell(h, output), output)
        return output[0] if self.outputs_pair else output


def _keep_at_padding(is_word: torch.Tensor, new: Any, old: Any) -> Any:
    """Return the new state at words and the old one at padding; a state may be a tuple."""
    if isinstance(old, tuple):
        return tuple(_keep_at_padding(is_word, *pair) for pair in zip(new, old, strict=True))
    return torch.where(is_word, new, old)


class NumberReaderNetwork(ExtendedTorchModule):
    """Token ids `(batch, time)` -> value `(batch, 1)`, as in the NALU paper.

    Each token is embedded and fed to torch's own LSTM, which has no stacks; the head `unit_name`
    maps its output behind the last word. `linear` has a bias, as torch's own.
    """

    def __init__(
        self,
        unit_name: str,
        embedding_size: int = 32,
        hidden_size: int = 128,
        vocabulary_size: int = 31,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.embedding = torch.nn.Parameter(torch.empty(vocabulary_size, embedding_size))
        self.lstm_cell = GeneralizedCell(embedding_size, hidden_size, "LSTM", name="lstm_layer")
        if unit_name == "linear":
            self.head = Dense(hidden_size, 1, name="head")
        else:
            self.head = GeneralizedLayer(hidden_size, 1, unit_name, name="head", **layer_options)

    def reset_parameters(self) -> None:
        torch.nn.init.normal_(self.embedding)
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cell = self.lstm_cell.cell
        words = torch.nn.functional.embedding(x, self.embedding)
        start = [words.new_zeros(1, len(x), cell.hidden_size)] * 2
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        states, *_ = torch.lstm(words, start, weights, True, 1, 0.0, self.training, False, True)
        last = (x != PADDING_ID).sum(-1) - 1
        return self.head(states[torch.arange(len(x), device=x.device), last])
