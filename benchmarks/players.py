"""Readers of numbers in words and players of the grid world, alone and as seeds in one stack.

Each against a loop over the same model that is written by hand, with torch's own LSTM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

from stable_nalu.dataset.number_translation import PAPER, NumberTranslationDataset
from stable_nalu.script import Interruption

from .bare import NALU
from .clock import median, spent
from .stopwatch import Stopwatch, train
from .table import Row, compared, microseconds

REPEATS = 5
_LONG = "--no-cuda --no-save --workers 1"
_WORDS = (
    f"--number-range {PAPER} --head final --layer-type NALU --embedding-size 32 "
    f"--learning-rate 3e-3 --clip-grad-norm 10 --max-epochs 1000000 {_LONG}"
)
_WORLD = f"--layer-type NAC --max-iterations 1000000 --log-interval 1000000000 {_LONG}"


@dataclass(frozen=True)
class Case:
    """A script's words without seeds, the update of a bare loop, and how much is measured.

    units: of the script in a stretch, each of so many updates. runs: of the stack, and its aim.
    """

    title: str
    script: str
    words: str
    loop: Callable[[], Callable[[], None]]
    units: int
    updates: int
    runs: int
    aim: str


def rows() -> Iterator[Row]:
    """Measure one run alone and a stack of seeds, by turns with the bare loop."""
    for case in (
        *(
            Case(
                f"Numbers in words, width {width}",
                "number_translation",
                f"{_WORDS} --hidden-size {width}",
                lambda width=width: reader(width),
                5,
                3,
                10,
                "1/2",
            )
            for width in (32, 128)
        ),
        Case("Grid world, NAC", "gridworld_time", _WORLD, player, 4, 1, 10, "1/2"),
    ):
        for runs, aim in ((1, "1.1"), (case.runs, case.aim)):
            yield _measured(case, runs, aim)


def _measured(case: Case, runs: int, aim: str) -> Row:
    update = case.loop()
    count = case.units * case.updates

    def bare():
        return spent(lambda: [update() for _ in range(count)]) / count

    interruption = Interruption()
    watch = Stopwatch(case.units, REPEATS, {"bare": bare}, interruption)
    train(case.script, f"{case.words} --seed 0-{runs - 1}", watch, interruption)
    own = median(watch.own) / (runs * case.updates)
    title = f"{case.title}: {f'{runs} runs' if runs > 1 else 'a run alone'} / bare loop"
    return compared(title, (own, median(watch.others["bare"])), aim, microseconds)


class Reader(torch.nn.Module):
    """An embedding, an LSTM, and a NALU that reads its output behind the last word."""

    def __init__(self, width: int):
        super().__init__()
        self.embedding = torch.nn.Embedding(31, 32)
        self.lstm = torch.nn.LSTM(32, width, batch_first=True)
        self.head = NALU(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map ids `(batch, time)`, padded with 0, to values `(batch, 1)`."""
        states, _ = self.lstm(self.embedding(x))
        return self.head(states[torch.arange(len(x)), (x != 0).sum(1) - 1])


def reader(width: int) -> Callable[[], None]:
    """Return the next update of a reader, on the batches of shuffled epochs."""
    data = NumberTranslationDataset(0, PAPER).fork("train")
    model = Reader(width)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches: list[torch.Tensor] = []

    def update() -> None:
        if not batches:
            batches.extend(torch.randperm(len(data)).split(64))
        rows = batches.pop(0)
        optimizer.zero_grad()
        loss = functional.mse_loss(model(data.ids[rows]), data.values[rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    return update


class Player(torch.nn.Module):
    """An LSTM that sees the world, T and a register that a NAC keeps; two heads."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(50, 64)
        self.lstm = torch.nn.LSTMCell(69, 64)
        self.policy, self.value = torch.nn.Linear(64, 5), torch.nn.Linear(64, 1)
        self.what, self.mhat = (torch.nn.Parameter(torch.rand(4, 6) - 0.5) for _ in range(2))


_MOVES = torch.tensor([(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)])


def player(episodes: int = 64) -> Callable[[], None]:
    """Return the next update of a player: whole episodes, then the advantage actor-critic."""
    model = Player()
    optimizer = torch.optim.Adam(model.parameters())

    def update() -> None:
        asked = torch.randint(5, 13, (episodes,))
        at, square = _placed(asked)
        number = asked.float().unsqueeze(1)
        h = c = torch.zeros(episodes, 64)
        register, ones = torch.zeros(episodes, 4), torch.ones(episodes, 1)
        alive, length = torch.ones(episodes, dtype=torch.bool), torch.zeros(episodes)
        weight = model.what.tanh() * model.mhat.sigmoid()
        paid, steps = torch.zeros(episodes), []
        while alive.any() and len(steps) < 24:
            cells = (at[:, 0] * 5 + at[:, 1], square[:, 0] * 5 + square[:, 1])
            view = torch.cat([functional.one_hot(cell, 25) for cell in cells], 1).float()
            told = number if not steps else torch.zeros_like(number)
            register = torch.cat((told, ones, register), 1) @ weight.t()
            seen = torch.cat((model.encoder(view).relu(), number, register), 1)
            h, c = model.lstm(seen, (h, c))
            choice = torch.distributions.Categorical(logits=model.policy(h))
            action = choice.sample()
            steps.append((choice.log_prob(action), model.value(h)[:, 0], choice.entropy(), alive))
            at = torch.where(alive[:, None], (at + _MOVES[action]).clamp(0, 4), at)
            length += alive
            arrived = alive & (at == square).all(1)
            paid += arrived * (10 - (asked - length).abs())
            alive = alive & ~arrived
        log_p, value, entropy, live = map(torch.stack, zip(*steps, strict=True))
        left = length - 1 - torch.arange(len(steps)).unsqueeze(1)
        returns = paid / 10 * 0.99 ** left.clamp(min=0)
        gain = (returns - value).detach()
        losses = -log_p * gain + 0.5 * (returns - value) ** 2 - 0.02 * entropy
        optimizer.zero_grad()
        (losses * live).sum().div(live.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()

    return update


def _placed(asked: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw different cells of players and squares, near enough for T."""
    at, square = torch.randint(5, (2, len(asked), 2))
    while True:
        far = (at - square).abs().sum(1)
        wrong = (far == 0) | (far > asked)
        if not wrong.any():
            return at, square
        at[wrong], square[wrong] = torch.randint(5, (2, int(wrong.sum()), 2))
