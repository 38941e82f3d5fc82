"""Layers that are easily computed wrongly: what strangers write, each as small as it can be.

Each is trained by the engine and in plain torch: the numbers agree, or a line says why the engine
does not train it.
"""

import numpy as np
import torch


class _Sum(torch.nn.Module):
    """A weighted sum of the inputs."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features) + 0.5)
        self.start(in_features, out_features)

    def start(self, in_features: int, out_features: int) -> None: ...

    def sum(self, x):
        return x @ self.W.mT

    def forward(self, x):
        return self.sum(x)


# Drawn in the constructor: every run has its own.


class DrawnNumber(_Sum):
    def start(self, in_features, out_features):
        self.factor = torch.rand(()).item()

    def forward(self, x):
        return self.factor * self.sum(x)


class DrawnByNumpy(_Sum):
    def start(self, in_features, out_features):
        self.factor = np.random.rand()

    def forward(self, x):
        return self.factor * self.sum(x)


class DrawnTensor(_Sum):
    def start(self, in_features, out_features):
        self.factor = torch.rand(in_features)

    def forward(self, x):
        return self.sum(x * self.factor)


class DrawnInPart(_Sum):
    def start(self, in_features, out_features):
        self.part = torch.nn.Module()
        self.part.settings = {"factors": [torch.rand(()).item()]}

    def forward(self, x):
        return self.part.settings["factors"][0] * self.sum(x)


class DrawnChoice(_Sum):
    def start(self, in_features, out_features):
        self.bend = [torch.tanh, torch.sin, torch.exp, torch.abs][int(torch.randint(4, ()))]

    def forward(self, x):
        return self.bend(self.sum(x))


class HiddenBuffer(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("factor", torch.rand(in_features), persistent=False)

    def forward(self, x):
        return self.sum(x * self.factor)


# Of all rows at once, of which an evaluation has others than a batch.


class BatchNorm(_Sum):
    def start(self, in_features, out_features):
        self.norm = torch.nn.BatchNorm1d(in_features)

    def forward(self, x):
        return self.sum(self.norm(x))


# Numbers of another precision than the run's.


class SmallIntegers(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("large", torch.full((in_features,), 100, dtype=torch.int8))

    def forward(self, x):
        return self.sum(x * (self.large + self.large))


class IntegersCounted(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.steps += 1
        return self.sum(x) * (1 + self.steps / 100)


class DoubleParameter(_Sum):
    def start(self, in_features, out_features):
        self.V = torch.nn.Parameter(torch.rand(out_features, in_features, dtype=torch.float64))

    def forward(self, x):
        return self.sum(x) + (x.double() @ self.V.mT).to(x.dtype)


class IdleDoubles(_Sum):
    def start(self, in_features, out_features):
        trained = self.W
        del self.W
        self.V = torch.nn.Parameter(torch.full((3,), 0.1, dtype=torch.float64))
        self.register_buffer("large", torch.tensor(2**24 + 1))
        self.W = trained


class TruthKept(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("seen", torch.zeros(in_features, dtype=torch.bool))

    def forward(self, x):
        if self.training:
            self.seen = self.seen | (self.W[0].detach() > 1.0)
        return self.sum(x) * (1 + self.seen.sum() / 10) + self.seen.to(x.dtype).sum()


# Forms of operations that few use.


class OutOfTwo(_Sum):
    def forward(self, x):
        with torch.no_grad():
            torch.max(x, 1, out=(largest := torch.empty(0), places := torch.empty(0).long()))
        return self.sum(x) + (largest + places).unsqueeze(1)


class PlacesOfATensor(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("order", torch.randperm(in_features))

    def forward(self, x):
        return self.sum(x[:, self.order] + x.index_select(1, self.order) * torch.tensor([1.0, 2.0]))


class WrittenIntoOwn(_Sum):
    def forward(self, x):
        factors = torch.ones(2)
        part = factors[:1]
        factors.copy_(self.W[0].detach())
        return self.sum(x * part)


class WrittenAtPlaces(_Sum):
    def forward(self, x):
        y = x.clone()
        y[x > 1.5] = 0
        return self.sum(y)


# What is no number.


class EdgesOfNoNumbers(_Sum):
    def forward(self, x):
        y = torch.where(x > 1.5, torch.nan, x)
        bent = y.relu() + y.clamp(0, 1.2) + y.sign() + torch.maximum(y, x) + torch.minimum(x, y)
        return self.sum(x * torch.where(bent.isnan(), 2.0, 1.0))


# Outside of torch, or under its eyes.


class NewData(_Sum):
    def forward(self, x):
        if self.training:
            self.W.data = self.W.data * 0.99
        return self.sum(x)


class ChangedWithoutGradient(_Sum):
    def forward(self, x):
        with torch.no_grad():
            self.W.clamp_(0.6, 1.2)
        return self.sum(x)


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        return 2 * grads[0]


class HookOfGradient(_Sum):
    def forward(self, x):
        y = self.sum(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 0.5)
        return y


# What a pass leaves behind.


class CountsInNumber(_Sum):
    seen = 0

    def forward(self, x):
        self.seen += 1
        return self.sum(x) * (1 + self.seen / 100)


class Counter:
    passes = 0


class CountsInObject(_Sum):
    def start(self, in_features, out_features):
        self.counter = Counter()

    def forward(self, x):
        self.counter.passes += 1
        return self.sum(x) * (1 + self.counter.passes / 100)


class KeepsLastOutput(_Sum):
    def start(self, in_features, out_features):
        self.last = torch.zeros(())

    def forward(self, x):
        y = self.sum(x) + 0.5 * self.last
        self.last = y.detach().mean()
        return y


class BufferInTraining(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * self.W.detach().mean()
        return self.sum(x) - self.mean


class BufferChangedInEvaluation(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x):
        if not torch.is_grad_enabled():
            self.passes.add_(1)
        return self.sum(x) * (1 + self.passes / 10)


class BufferInCell(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x):
        self.passes = self.passes + 1
        return self.sum(x).tanh() * (1 + self.passes / 100)


class ListInCell(_Sum):
    def start(self, in_features, out_features):
        self.seen = []

    def forward(self, x):
        self.seen.append(1)
        return self.sum(x).tanh() * (1 + len(self.seen) / 100)


class MeanOfRows(_Sum):
    def start(self, in_features, out_features):
        self.register_buffer("mean", torch.zeros(in_features))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.sum(x - self.mean)


class Tied(_Sum):
    def start(self, in_features, out_features):
        self.V = self.W

    def forward(self, x):
        return self.sum(x) + (x**2) @ self.V.mT


class Frozen(_Sum):
    def start(self, in_features, out_features):
        self.V = torch.nn.Parameter(torch.rand(out_features, in_features), requires_grad=False)

    def forward(self, x):
        return self.sum(x) + x @ self.V.mT


F = torch.nn.functional


FORWARDS = {
    # Of all rows at once, of which an evaluation has others than a batch.
    "Centred": lambda self, x: (y := self.sum(x)) - y.mean(0),
    "SumOfOnes": lambda self, x: self.sum(x) * torch.ones_like(x[:, 0]).sum() / 128,
    "DividedByLargest": lambda self, x: self.sum(x) / x.max(),
    "Standardised": lambda self, x: self.sum((x - x.mean(0)) / x.std(0)),
    "RowsAgainstEachOther": lambda self, x: self.sum(x).softmax(0) * 100,
    "FirstRow": lambda self, x: self.sum(x) - self.sum(x[:1]),
    "RowsTurned": lambda self, x: self.sum(x.flip(0) + x.roll(1, 0)),
    "SumsOfRows": lambda self, x: self.sum(x) + x.cumsum(0)[:, :1],
    "Gram": lambda self, x: (x @ x.mT).mean(1, keepdim=True) * self.sum(x),
    # Numbers of another precision than the run's.
    "LargestTruth": lambda self, x: (
        self.sum(x)
        + (torch.maximum(x > 1.2, x > 1.5).sum(1, keepdim=True))
        + (x > 1.5).any(1, keepdim=True)
    ),
    "SmallNaturalsFromNumbers": lambda self, x: self.sum(
        x * (torch.arange(x.shape[1], dtype=torch.uint8) + 255)
    ),
    "SumOfTruths": lambda self, x: (
        self.sum(x) * ((x > 1.2) + (x > 1.5)).to(x.dtype).sum(1, keepdim=True)
    ),
    "WholeParts": lambda self, x: self.sum(x) + (x * 10).long().sum(1, keepdim=True) // 3,
    "Bits": lambda self, x: self.sum(x) + ((x * 100).int() & 1).sum(1, keepdim=True),
    "DoubleInside": lambda self, x: (
        self.sum(x) + (x.double() + 2.0**30 - 2.0**30).to(x.dtype).sum(1, keepdim=True)
    ),
    "HalfInside": lambda self, x: self.sum(x.half().to(x.dtype) * 3),
    "ComplexInside": lambda self, x: (
        torch.exp(torch.complex(x, self.W * x)).abs().sum(1, keepdim=True)
    ),
    "Remainders": lambda self, x: self.sum(
        torch.remainder(x, 0.3) + torch.fmod(-x, 0.7) + x.floor() + x.frac()
    ),
    # Forms of operations that few use.
    "ScatteredTensor": lambda self, x: self.sum(
        torch.zeros_like(x).scatter(1, (x.argmax(1, keepdim=True)), x[:, 1:] * 3)
    ),
    "ScatteredByMultiplying": lambda self, x: self.sum(
        x.detach().scatter(1, (x.detach().argmax(1, keepdim=True)), 3.0, reduce="multiply")
    ),
    "SmallestWithPlaces": lambda self, x: (
        self.sum(x) + ((found := x.min(1)).values * found.indices).unsqueeze(1)
    ),
    "DividedAndFloored": lambda self, x: (
        self.sum(x) + torch.div(x, 0.3, rounding_mode="trunc").sum(1, keepdim=True)
    ),
    "ClampedByTensors": lambda self, x: self.sum(x.clamp(self.W.detach(), self.W.detach() + 0.3)),
    "LargestOfEqual": lambda self, x: self.sum(x) + torch.stack([self.sum(x), self.sum(x)]).amax(0),
    "RepeatedProducts": lambda self, x: (
        x.cumprod(1) @ self.W.mT + torch.logsumexp(x, 1, keepdim=True)
    ),
    "Inverse": lambda self, x: (
        self.sum(x) * torch.linalg.inv(torch.eye(2) + self.W.mT @ self.W).sum()
    ),
    "PowersOfTensors": lambda self, x: (
        ((x - 1.5).abs() ** self.W).sum(1, keepdim=True) + torch.pow(2, self.sum(x) - 3)
    ),
    # What is no number.
    "PlaceOfLateNoNumber": lambda self, x: (
        self.sum(x)
        * (
            1
            + (y := torch.stack([x[:, 0], torch.full_like(x[:, 0], torch.nan), x[:, 1]], 1)).argmax(
                1, keepdim=True
            )
            + y.argmin(1, keepdim=True)
        )
    ),
    "LargestOfNoNumbers": lambda self, x: (
        self.sum(x)
        * torch.nan_to_num(torch.where(x > 1.5, torch.nan, x).amax(1, keepdim=True), 3.0)
    ),
    "SlopesAtZero": lambda self, x: (
        self.sum(x)
        + (y := self.sum(x) - self.sum(x)).abs()
        + y.relu()
        + y.sign()
        + y.clamp(0, 1)
        + F.leaky_relu(y, 0.3)
    ),
    "ProductsWithZero": lambda self, x: (
        self.sum(x) + torch.cat([x, self.sum(x) - self.sum(x), x], 1).prod(1, keepdim=True)
    ),
    "NormOfZero": lambda self, x: self.sum(x) + (self.sum(x) * 0).norm(dim=1, keepdim=True),
    # Outside of torch, or under its eyes.
    "InputsByNumpy": lambda self, x: (
        self.sum(x) + torch.from_numpy(np.abs(x.detach().numpy())).sum(1, keepdim=True)
    ),
    "StraightThrough": lambda self, x: x @ (self.W + (self.W.round() - self.W).detach()).mT,
    "OwnGradient": lambda self, x: _Doubled.apply(self.sum(x)),
    "ChecksGradient": lambda self, x: self.sum(x) * (2.0 if torch.is_grad_enabled() else 1.0),
    "OtherInEvaluation": lambda self, x: self.sum(x) * (2.0 if self.training else 1.0),
    "Dropout": lambda self, x: F.dropout(self.sum(x), 0.5, self.training),
    "DrawsInForward": lambda self, x: self.sum(x) * torch.rand(()),
}
for name, forward in FORWARDS.items():
    globals()[name] = type(name, (_Sum,), {"forward": forward})
