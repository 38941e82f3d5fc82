"""A task of one's own: a formula, a function or a table, for any unit or network.

    sn.task("x1 * x2 + x3", train=(1, 2), test=(2, 6))

Samples of formulas and functions are drawn from `train` and, for the test, from `test`, with normal
noise on the targets of training alone. Of a table, `test` says which rows are the test: a condition
on its columns, a share of the rows, or a column of truth values. A tenth of the other rows is for
validation; batches draw the rest with replacement.

A run is solved when its test error is below the threshold. `exact` is the error of the right
formula whose weights are off by 1e-5: terms of sums are (1 - 1e-5) of themselves, factors z are
(1 - 1e-5) z + 1e-5. It is the default for formulas. The default for functions is 1e-10 of the mean
square of the targets. The default for tables is 1.1 times the variance of the given noise, without
which no run is solved.
"""

import hashlib
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError, UsageError, in_words, named_as_in_python
from stable_nalu.dataset.distribution import LegacyRandom, SampleRange, Uniform
from stable_nalu.dataset.expression import Expression
from stable_nalu.dataset.simple_function import (
    FunctionTargets,
    Operation,
    SampleStream,
    StoredStream,
)
from stable_nalu.layer.registry import Brought, bring, brought
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork
from stable_nalu.options import Config, Flag, FlagGroup, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import Kind, and_layers, finite, integer, number, text
from stable_nalu.statistics.setups import Limit
from stable_nalu.training.task import Goal, Target

from .arithmetic import READ_ROWS, TEST_SEED, VALIDATION_SEED, is_whole
from .depth import FORMULA_LAYERS, FormulaTask, formula_script

OFF, RELATIVE, OF_NOISE = 1e-5, 1e-10, 1.1
"""How far weights are off at the threshold; that of functions; that of noisy tables."""
SHARE, SPLIT_SEED = 0.1, 20261128
"""The part of a table's rows for validation, and the seed by which rows are parted."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"\[?\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\]?")
_LAW = re.compile(rf"(\w+)\(((?:{_NUMBER}(?:,\s*{_NUMBER})*)?)\)")
_BROUGHT = re.compile(r"[\w.]+-[0-9a-f]{8}\(\)")

Draw = Callable[[np.ndarray], np.ndarray]
"""Makes values of uniform doubles in [0, 1)."""


def _draw(word: str) -> Draw:
    """Return what draws an input: uniform from `1,2`, or a law of scipy, such as `norm(0,1)`."""
    if interval := _INTERVAL.fullmatch(word):
        low, high = map(float, interval.groups())
        if not low < high:
            raise ValueError(f"{word} does not run from a low to a higher number; write 1,2")
        return lambda doubles: low + (high - low) * doubles
    if named := _LAW.fullmatch(word):
        from scipy import stats

        law = getattr(stats, named[1], None)
        if isinstance(law, stats.rv_continuous | stats.rv_discrete):
            try:
                own = law(*map(float, filter(None, named[2].split(","))))
                if math.isfinite(float(own.ppf(0.5))):
                    return lambda doubles: own.ppf(doubles + 2.0**-54)
            except (TypeError, ValueError):
                pass
            raise ValueError(f"scipy.stats has no {word}; its parameters are {law.shapes}")
    raise ValueError(f"{word!r} is no range; write 1,2 or a law of scipy.stats: norm(0,1)")


class Samples:
    """Where inputs are drawn from: by words of `--train` or `--test`.

    parts: what draws each input, of every range; rows take the ranges in turns. sampler: a function
    of a generator and a number of rows, in their place.
    """

    def __init__(self, words: Sequence[str], names: Sequence[str], find: Callable[[str], Any]):
        self.sampler, self.parts = None, list[list[Draw]]()
        if len(words) == 1 and _BROUGHT.fullmatch(words[0]):
            self.sampler = find(words[0])
            return
        named = [word.partition("=") for word in words]
        if any(equals for _, equals, _ in named):
            own = {name: word for name, equals, word in named if equals}
            if len(own) < len(words) or set(own) != set(names):
                known = " ".join(f"{name}=1,2" for name in names)
                raise ValueError(f"{' '.join(words)} names other inputs; write {known}")
            self.parts = [[_draw(own[name]) for name in names]]
        else:
            self.parts = [[_draw(word)] * len(names) for word in words]

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Return an interval that holds all inputs of each part."""
        ends = [[draw(np.array([0.0, 1 - 2.0**-53])) for draw in part] for part in self.parts]
        return [(float(np.min(own)), float(np.max(own))) for own in ends]

    def fill(self, x: np.ndarray, random: Any) -> None:
        """Fill inputs `(batches, batch, inputs)`, which are uniform doubles, of one run."""
        for own in x if self.sampler is not None else ():
            drawn = np.asarray(self.sampler(np.random.Generator(random.bit_generator), len(own)))
            if drawn.shape != own.shape:
                problem = f"a sampler returned {drawn.shape} numbers, not {own.shape}"
                raise UsageError(f"{problem}; return a row for each sample")
            own[...] = drawn
        for k, part in enumerate(self.parts):
            for place, draw in enumerate(part):
                rows = x[:, k :: len(self.parts), place]
                rows[...] = draw(rows)


class OwnTargets:
    """Targets x `(batches, batch, inputs)` -> `(batches, batch, outputs)` of a function."""

    operands = ()

    def __init__(self, function: Callable[[torch.Tensor], Any], word: str, outputs: int):
        self.function, self.outputs, self.word = function, outputs, word
        self.operation = Operation(word, 0, lambda: np.empty(0), lambda: word)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Call the function for one batch at a time, as whole numbers of rows round alike."""
        return np.stack([self._of_batch(torch.from_numpy(own)) for own in x])

    @torch.no_grad()
    def _of_batch(self, x: torch.Tensor) -> np.ndarray:
        try:
            targets = torch.as_tensor(self.function(x.clone()), dtype=torch.float64)
        except Exception as error:
            raise UsageError(f"target: {self.word} fails: {in_words(error)}") from None
        shape = len(x), self.outputs
        if targets.shape == shape[:1]:
            targets = targets[:, None]
        if targets.shape != shape:
            problem = f"{self.word} returned {tuple(targets.shape)} for {len(x)} rows"
            raise UsageError(f"target: {problem}, not {shape}; return a number for each row")
        return targets.numpy()


@dataclass(frozen=True)
class Scale:
    """Means and deviations of inputs and targets, by which a network computes."""

    x_mean: Any = 0.0
    x_spread: Any = 1.0
    t_mean: Any = 0.0
    t_spread: Any = 1.0

    @classmethod
    def of(cls, x: np.ndarray, t: np.ndarray) -> "Scale":
        spread = np.where(x.std(0) > 0, x.std(0), 1.0)
        return cls(x.mean(0), spread, t.mean(0), np.where(t.std(0) > 0, t.std(0), 1.0))


class OwnStream(SampleStream):
    """Samples of a formula or a function; see `Problem`."""

    scales_doubles = False

    def __init__(
        self,
        problem: "DrawnProblem",
        samples: Samples,
        seed: int,
        noise: float = 0.0,
        scale: tuple[Any, float] = (0.0, 1.0),
    ):
        shape, whole = (len(problem.names),), SampleRange.parse([0, 1])
        super().__init__(seed, Uniform(), whole, shape, problem.targets)
        self._samples, self._noise, self._scale = samples, noise, scale
        self._own = problem.key, noise

    def inputs(self, batches: int, batch_size: int) -> np.ndarray:
        """Draw inputs and, behind them, the noise of every target."""
        if self._samples.sampler is not None and batches > 1:
            # It draws from the same generator, so that each batch has its own turn.
            return np.concatenate([self.inputs(1, batch_size) for _ in range(batches)])
        inputs = self.sample_shape[0]
        width = inputs + self.outputs * (self._noise > 0)
        block = self.random.doubles((batches, batch_size, width))
        if self._noise:
            from scipy.special import ndtri

            block[..., inputs:] = self._noise * ndtri(block[..., inputs:] + 2.0**-54)
        self._samples.fill(block[..., :inputs], self.random)
        return block

    def write(self, block: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        (mean, spread), inputs = self._scale, self.sample_shape[0]
        drawn = np.ascontiguousarray(block[..., :inputs])
        with np.errstate(all="ignore"):
            targets = self.targets(drawn) + (block[..., inputs:] if self._noise else 0.0)
            np.copyto(x, drawn, casting="same_kind")
            np.copyto(t, (targets - mean) / spread, casting="same_kind")

    def keys(self) -> tuple[tuple, tuple]:
        own = self.random.position(), self._own
        return own, own


class Problem:
    """What runs of one configuration learn: data, targets and threshold.

    names: of the inputs. targets: what makes them of inputs. fork: returns the stream of a seed.
    """

    names: Sequence[str]
    fork: Callable[[int | None, int], SampleStream]
    _read: Callable[[Any], None]
    _prepare: Callable[[Any], None]
    usual_threshold: Callable[[Any], float | None]
    scale = Scale()

    def __init__(self, config: Any):
        self.key, self.outputs, self.limit = config.key, config.outputs or 1, None
        data = "--data" if config.data else "--target"
        flags = "--target", data, "--threshold"
        for flag, make in zip(flags, (self._read, self._prepare, self._judge), strict=True):
            try:
                make(config)
            except ValueError as error:
                raise OptionError.of(flag, str(error)) from None

    def _judge(self, config: Config) -> None:
        given = config.threshold
        if given in (None, "exact"):
            limit = self.usual_threshold(config)
            if limit is None and given:
                raise ValueError("exact needs a formula; give a number")
        else:
            limit = math.nan if given == "none" else finite(given)
            if limit <= 0:
                raise ValueError(f"{given} is no error; write a number above 0")
        self.limit = None if limit is None or math.isnan(limit) else Limit(limit)


class DrawnProblem(Problem):
    """A formula or a function of samples that are drawn."""

    formula: Expression | None = None

    def _read(self, config: Config) -> None:
        given = config.input_names
        if _BROUGHT.fullmatch(config.target):
            function = brought(config.target)
            count = int(given[0]) if given and given[0].isdigit() else len(given)
            if not count:
                raise ValueError("the number of inputs of a function is not known; give inputs=2")
            self.names = given if len(given) == count else numbered(count)
            self.targets: Any = OwnTargets(function, config.target, self.outputs)
            return
        self.formula = formula = Expression(config.target)
        self.names = numbered(int(given[0])) if given and given[0].isdigit() else given
        self.names = self.names or formula.names
        if lacking := [name for name in formula.names if name not in self.names]:
            known = ", ".join(self.names)
            raise ValueError(f"{', '.join(lacking)} is no input; those are {known}")
        if self.outputs > 1:
            raise ValueError("a formula has one output; write a function for several")
        places = [self.names.index(name) for name in formula.names]
        operation = Operation(formula.text, None, formula, lambda *names: formula.text)
        self.targets = FunctionTargets(operation, [(k, k + 1) for k in places])

    def _prepare(self, config: Config) -> None:
        drawn = {}
        for flag in ("train", "test"):
            try:
                drawn[flag] = Samples(getattr(config, flag), self.names, brought)
            except ValueError as error:
                raise OptionError.of(f"--{flag}", str(error)) from None
        self.train, self.test = drawn["train"], drawn["test"]
        self.noise = config.noise
        pairs = (self.train, VALIDATION_SEED), (self.test, TEST_SEED)
        rows = [self._rows(samples, seed) for samples, seed in pairs]
        for flag, (_, t) in zip(("--train", "--test"), rows, strict=True):
            if not np.isfinite(t).all():
                bad = np.count_nonzero(~np.isfinite(t))
                problem = f"{bad} of {len(t)} targets there are no finite numbers"
                raise OptionError(flag, problem, "choose another range")
        self._test_rows = rows[1]
        if config.scale:
            self.scale = Scale.of(*rows[0])

    def _rows(self, samples: Samples, seed: int) -> tuple[np.ndarray, np.ndarray]:
        stream = OwnStream(self, samples, seed)
        block = stream.inputs(1, READ_ROWS)
        with np.errstate(all="ignore"):
            return block[0], self.targets(block)[0]

    def usual_threshold(self, config: Config) -> float | None:
        x, t = self._test_rows
        if self.formula is None:
            return None if config.threshold else RELATIVE * float((t**2).mean())
        columns = [x[:, self.names.index(name)] for name in self.formula.names]
        error = float(((self.formula(*columns, off=OFF) - t[:, 0]) ** 2).mean())
        return error or RELATIVE * float((t**2).mean())

    def fork(self, seed: int | None, own_seed: int) -> SampleStream:
        if seed is None:
            own = self.scale
            return OwnStream(self, self.train, own_seed, self.noise, (own.t_mean, own.t_spread))
        return OwnStream(self, self.test if seed == TEST_SEED else self.train, seed)


class TableProblem(Problem):
    """Rows of a table."""

    def _read(self, config: Config) -> None:
        import pandas as pd

        path = config.data
        try:
            cells = pd.read_csv(path, dtype=str, keep_default_na=False)
        except (OSError, ValueError) as error:
            problem = f"cannot read {path}: {in_words(error)}"
            raise OptionError("--data", problem, "name a CSV file") from None
        table = cells.apply(_numbers)
        columns = list(map(str, table.columns))
        whole = [config.target] if config.target in columns else config.target.split(",")
        if lacking := [name for name in whole if name not in columns]:
            known = f"it has {', '.join(columns)}"
            raise ValueError(f"{path} has no column {', '.join(lacking)}; {known}")
        self._table, self._whole = table, whole
        self.outputs = len(whole)

    def _prepare(self, config: Config) -> None:
        table, path = self._table, config.data
        tested, marks = _tested(table, config.test)
        others = [c for c in map(str, table.columns) if c not in (*self._whole, marks)]
        self.names = config.input_names or tuple(others)
        if lacking := [name for name in self.names if name not in table.columns]:
            problem = f"{path} has no column {', '.join(lacking)}"
            raise OptionError("--input-names", problem, "name its columns")
        try:
            x, t = (table[list(names)].to_numpy(float) for names in (self.names, self._whole))
        except ValueError:
            problem = f"{path} has columns that are no numbers"
            raise ValueError(f"{problem}; name --input-names") from None
        if not x.shape[1]:
            raise ValueError(f"{path} has no column besides the target; name another one")
        whole = np.isfinite(x).all(1) & np.isfinite(t).all(1)
        if not whole.all():
            row = int(np.argmin(whole)) + 2
            raise ValueError(f"line {row} of {path} lacks a finite number; leave the line out")
        left = np.flatnonzero(~tested)
        random = np.random.default_rng(SPLIT_SEED)
        count = max(1, round(SHARE * len(left)))
        if len(left) < 2 or not tested.any():
            problem = f"{int(tested.sum())} of {len(table)} rows are the test"
            raise OptionError("--test", problem, "leave two rows or more to train on, and test one")
        random.shuffle(left)
        self.rows = {
            None: np.sort(left[count:]),
            VALIDATION_SEED: np.sort(left[:count]),
            TEST_SEED: np.flatnonzero(tested),
        }
        if config.scale:
            self.scale = Scale.of(x[self.rows[None]], t[self.rows[None]])
        self._parts = {seed: (x[rows], t[rows]) for seed, rows in self.rows.items()}
        inputs, targets = self._parts[None]
        self._parts[None] = inputs, (targets - self.scale.t_mean) / self.scale.t_spread

    def usual_threshold(self, config: Config) -> float | None:
        return None if config.threshold or not config.noise else OF_NOISE * config.noise**2

    def fork(self, seed: int | None, own_seed: int) -> SampleStream:
        return StoredStream(own_seed, *self._parts[seed])


def _numbers(column: Any) -> Any:
    """Return a column of texts as numbers, if they are; an empty one is not."""
    try:
        return column.map(lambda cell: float(cell or "nan"))
    except ValueError:
        return column


def _tested(table: Any, words: Sequence[str]) -> tuple[np.ndarray, str]:
    """Return which rows are the test, and the column that says so, if one does."""
    word = " ".join(words)
    try:
        share = float(word)
    except ValueError:
        share = math.nan
    if 0 < share < 1:
        random = np.random.default_rng(SPLIT_SEED)
        chosen = random.permutation(len(table))[: round(share * len(table))]
        return np.isin(np.arange(len(table)), chosen), ""
    if word in table.columns:
        values = table[word]
        if values.isin((0, 1)).all():
            return values.to_numpy(bool), word
        problem = f"column {word} holds other values than 0 and 1"
        raise OptionError("--test", problem, "mark rows by these")
    try:
        condition = Expression(word, condition=True)
        if lacking := set(condition.names) - set(map(str, table.columns)):
            raise ValueError(f"there is no column {', '.join(sorted(lacking))}")
        columns = {name: table[name].to_numpy(float) for name in condition.names}
        marked = np.asarray(condition.of(columns))
    except ValueError as error:
        remedy = "write a condition such as 'r > 3', a share such as 0.2, or a column"
        raise OptionError("--test", str(error).partition("; ")[0], remedy) from None
    if marked.dtype != bool:
        remedy = "write such as 'r > 3', or a share below 1"
        raise OptionError("--test", f"{word} is no condition", remedy)
    return marked, ""


FIELDS = [
    "target", "input_names", "outputs", "train", "test", "data", "noise", "scale", "threshold"
]  # fmt: skip


def numbered(count: int) -> tuple[str, ...]:
    return tuple(f"x{k}" for k in range(1, count + 1))


@lru_cache(maxsize=64)
def _digest(path: str, *_: Any) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def digest_of(path: str) -> str:
    try:
        state = Path(path).stat()
        return _digest(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise OptionError("--data", problem, "name a CSV file") from None


@lru_cache(maxsize=64)
def _problem_of(*key: Any) -> Problem:
    config = SimpleNamespace(**dict(zip(FIELDS, key, strict=False)), key=key)
    return (TableProblem if config.data else DrawnProblem)(config)


def problem_of(config: Any) -> Problem:
    """Return what a configuration learns, and make the file of its table known."""
    digest = digest_of(config.data) if config.data else ""
    if digest:
        bring(Brought(config.data, None, config.data, digest))
    return _problem_of(*(getattr(config, name) for name in FIELDS), digest)


class OwnData:
    """What the streams of a run are forks of."""

    def __init__(self, config: Config):
        self.problem, self._config = problem_of(config), config
        self._seed = int(LegacyRandom(config.seed).integers(0, 2**32 - 1))

    def get_input_size(self) -> int:
        return len(self.problem.names)

    def print_operation(self) -> str:
        c = self._config
        if c.data:
            counts = (len(self.problem.fork(s, 0)) for s in (None, VALIDATION_SEED, TEST_SEED))
            shown = "{:,} rows to train on, {:,} for validation, {:,} tested".format(*counts)
            return f"{c.target} of {', '.join(self.problem.names)}, {shown}"
        train, test = " ".join(c.train), " and ".join(c.test)
        return f"{c.target} of {', '.join(self.problem.names)} in {train}, tested in {test}"

    def fork(self, sample_range: Any, seed: int | None = None, **_: Any) -> SampleStream:
        """Return samples of training or, by their seeds, of validation or test."""
        return self.problem.fork(seed, self._seed)


class ScaledNetwork(ExtendedTorchModule):
    """A network of scaled inputs; its outputs are scaled in training, and back in evaluation."""

    def __init__(self, network: torch.nn.Module, scale: Scale):
        super().__init__("network")
        self.network = network
        for name, value in vars(scale).items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.get_default_dtype()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own = {name: buffer.unsqueeze(-2) for name, buffer in self.named_buffers(recurse=False)}
        y = self.network((x - own["x_mean"]) / own["x_spread"])
        return y if self.training else y * own["t_spread"] + own["t_mean"]


class OwnTask(FormulaTask):
    """Learn what a stranger brings."""

    dataset = OwnData

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        names = problem_of(config).names
        self.names = names if all(map(str.isidentifier, names)) else numbered(len(names))

    @classmethod
    def goal(cls, config: Config) -> Goal:
        limit = None if config.threshold == "none" else Limit(float(config.threshold))
        return Goal(limit=limit, operation=config.task)

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        problem = problem_of(config)
        return len(problem.names), problem.outputs

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        sizes = config.hidden, int(config.hidden > 0), *cls.sizes(config)
        own = IdentityNetwork(config.layer_type, *sizes, **layer_options)
        return ScaledNetwork(own, problem_of(config).scale) if config.scale else own

    def target(self) -> Target | None:
        problem = problem_of(self.config)
        limit = self.goal(self.config).limit
        if not isinstance(problem, DrawnProblem) or problem.formula is None or limit is None:
            return None
        if problem.test.sampler is not None:
            return None
        x, t = problem.fork(VALIDATION_SEED, 0)[0:READ_ROWS]
        return Target(problem.targets, x, t, problem.test.intervals, limit)


@dataclass(frozen=True)
class BroughtTask:
    """A task that `stable_nalu.task` made: its values of the flags of `own_task`.

    table: rows that are to be stored where runs are.
    """

    flags: Mapping[str, Any]
    table: Any = None


def made(what: Any, target: Any, inputs: Any, train: Any, test: Any, **flags: Any) -> BroughtTask:
    """Return a task of one's own; `stable_nalu.task` explains the arguments."""
    flags |= {"noise": float(flags["noise"]), "scale": bool(flags["scale"])}
    flags["threshold"] = None if flags["threshold"] is None else str(flags["threshold"])
    name, table = flags["task"], None
    if isinstance(inputs, int):
        flags["input_names"] = (str(inputs),)
    elif inputs is not None:
        flags["input_names"] = tuple(map(str, [inputs] if isinstance(inputs, str) else inputs))
    if isinstance(what, str) and target is None and not what.endswith(".csv"):
        flags["target"] = what
    elif callable(what):
        flags["target"] = _brought("target", what, name)
    elif isinstance(what, str | Path) or hasattr(what, "columns"):
        if target is None:
            raise UsageError("target: name the column of the table that is learned")
        flags["target"] = target if isinstance(target, str) else ",".join(target)
        if isinstance(what, str | Path):
            flags["data"] = str(what)
        else:
            table = what
    else:
        kind = type(what).__name__
        raise UsageError(f"what: {kind} is no task; give a formula, a function or a table")
    of_table = table is not None or "data" in flags
    if of_table and train is not None:
        raise UsageError("train: inputs are those of the table; leave it out")
    for flag, value in (("train", train), ("test", test)):
        if value is not None:
            flags[flag] = _words(flag, value, flags.get("input_names", ()), of_table)
    usual = {flag.dest: flag.default for flag in SCRIPT.flags}
    flags = {n: v for n, v in flags.items() if v is not None and v != usual[n]}
    with named_as_in_python():
        values = SimpleNamespace(**usual | flags)
        if table is None:
            problem_of(values)
        else:
            values.key, values.data = (), _Rows(table.to_csv(index=False))
            TableProblem(values)
    return BroughtTask(flags, table)


class _Rows(io.StringIO):
    """A table that is in no file yet."""

    def __str__(self) -> str:
        return "the table"


def _brought(argument: str, value: Any, name: str | None = None) -> str:
    from stable_nalu.layer.own_layers import bring as brought_as
    from stable_nalu.layer.user_code import ClassState

    if used := ClassState(value).uses:
        remedy = "write noise= for noise, or draw from the generator that a sampler gets"
        raise UsageError(f"{argument}: it reads {used}, which no seed repeats; {remedy}")
    return brought_as(value, name)


def _words(argument: str, value: Any, names: Sequence[str], of_table: object) -> tuple[str, ...]:
    """Return the words of a flag for a value of Python."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={_word(argument, one)}" for name, one in value.items())
    if of_table or isinstance(value, str):
        return (str(value),)
    if callable(value):
        return (_brought(argument, value),)
    if hasattr(value, "dist") or all(isinstance(one, int | float) for one in value):
        return (_word(argument, value),)
    words = [_word(argument, one) for one in value]
    if argument == "test" or len(words) == 1:
        return tuple(words)
    own = names if names and not names[0].isdigit() else numbered(len(words))
    if len(own) != len(words):
        raise UsageError(
            f"{argument}: {len(words)} ranges for {len(own)} inputs; give one for each"
        )
    return tuple(f"{name}={word}" for name, word in zip(own, words, strict=True))


def _word(argument: str, value: Any) -> str:
    if hasattr(value, "dist") and not value.kwds:
        return f"{value.dist.name}({','.join(f'{float(one):.17g}' for one in value.args)})"
    try:
        low, high = map(float, value)
    except (TypeError, ValueError):
        remedy = "write a pair such as (1, 2), or a law such as scipy.stats.norm(0, 1)"
        raise UsageError(f"{argument}: {value!r} is no range; {remedy}") from None
    return f"{low:.17g},{high:.17g}"


def _expanded(typed: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return flags with the flags, threshold and label of the task that they name."""
    given = dict(typed)
    named, file = (given.get(name, [None])[0] for name in ("task", "task_file"))
    task = None
    if file:
        task, flag = task_of_file(file), "--task-file"
    elif named in installed_tasks() and not {"target", "data"} & set(given):
        task, flag = _required(installed_tasks()[named].load(), "--task", named), "--task"
    for name, value in task.flags.items() if task else ():
        own = given.setdefault(name, [value])
        if own != [value] and (flag, name) != ("--task", "task"):
            said = name.replace("_", "-")
            raise OptionError(f"--{said}", f"{flag} says {value}", "leave one of them out")
    if "data" in given and "train" in given:
        raise OptionError("--train", "inputs are those of --data", "leave it out")
    values = {flag.dest: given.get(flag.dest, [flag.default])[0] for flag in SCRIPT.flags}
    problem = problem_of(SimpleNamespace(**values))
    if isinstance(problem, DrawnProblem) and problem.formula:
        given["target"] = [problem.formula.text]
    given["threshold"] = ["none" if problem.limit is None else f"{problem.limit.threshold:.6g}"]
    given["task"] = [label_of(values)]
    return given


def label_of(values: Mapping[str, Any]) -> str:
    """Return the name of a task: that which is given, or what its target makes."""
    if values["task"]:
        return values["task"]
    stem = Path(values["data"]).stem + "." if values["data"] else ""
    word = values["target"].partition("-")[0] if _BROUGHT.fullmatch(values["target"]) else ""
    plain = re.sub(r"[^\w.+*()÷,-]+", "", stem + (word or values["target"]).replace("/", "÷"))
    plain = plain.replace("_", ".")
    digest = hashlib.sha256(values["target"].encode()).hexdigest()[:8]
    return plain if len(plain) <= 40 else f"{plain[:30]}~{digest}"


def task_of_file(path: str) -> BroughtTask:
    from stable_nalu.layer.own_layers import load_layer_file, module_of

    load_layer_file(path, flag="--task-file")
    return _required(getattr(module_of(path), "TASK", None), "--task-file", f"TASK of {path}")


def _required(task: Any, flag: str, name: str) -> BroughtTask:
    if not isinstance(task, BroughtTask):
        raise OptionError(flag, f"{name} is no task", "write TASK = stable_nalu.task(...)")
    return task


def installed_tasks() -> dict[str, Any]:
    """Return the entry points of tasks that installed packages bring, by their names."""
    from importlib import metadata

    return {point.name: point for point in metadata.entry_points(group="stable_nalu.tasks")}


# A flag is a few lines of a table.
# fmt: off
_several = Kind("WORD ...", lambda words: [tuple(words)])
_TASK = FlagGroup(
    "Task and data",
    Flag("--task", text(), None, "Name of the task in run names and tables, or a task that an "
        "installed package brings."),
    Flag("--target", text("FORMULA"), "x1*x2", "What is to be learned: a formula such as "
        "'x1*x2 + x3', or the column of --data; several with commas between."),
    Flag("--task-file", text("FILE"), None, "Python file that defines TASK, a task of "
        "stable_nalu.task(...), and layers, if it likes.", result=False,
        unnamed="the record of a run holds the digest and the text of the file"),
    Flag("--data", text("FILE"), None, "CSV file whose rows are learned.", result=False,
        unnamed="the record of a run holds the digest of the file"),
    Flag("--input-names", _several, (), "Inputs, if not all of the formula or all other "
        "columns of --data: names, or a number for x1, x2, ..."),
    Flag("--outputs", integer(1), None, "Number of outputs of a function of a --task-file."),
    Flag("--noise", number(0), 0.0, "Deviation of normal noise on targets in training; of --data, "
        "that which its targets have.", in_name="no-{noise:float}"),
    Flag("--train", _several, ("1,2",), "Range of the inputs in training: 1,2 for all, "
        "x1=1,2 x2=0,5 for each, or a law of scipy.stats such as 'norm(0,1)'.",
        in_name="tr-{train:words}"),
    Flag("--test", _several, ("2,6",), "The same for the test, where several ranges stand for "
        "parts of the rows; of --data a condition such as 'r > 3', a share such as 0.2, or a "
        "column that marks rows.", in_name="te-{test:words}"),
    switch("--scale", "Let the network compute with standardised inputs and targets."),
    Flag("--threshold", text("MSE"), None, "Test error below which a run is solved: a number, "
        "exact, or none. By default exact for formulas, and none for --data without --noise."),
    *common.TASK.only("--batch-size", "--seed"),
    common.MAX_ITERATIONS.but(default=20000),
)
_NETWORK = FlagGroup(
    "Network",
    common.LAYER_TYPE.but(
        default="ReRegualizedLinearMNAC", choices=and_layers(lambda: ACTIVATIONS)),
    Flag("--hidden", integer(0), 0, "Width between two layers; 0: one layer.",
        in_name="h{hidden:int}"),
)


def _check_hidden(c: Config) -> None:
    common.refuse(c.hidden and is_whole(c), "--hidden", "a network has layers of its own",
        "leave it out")


SCRIPT = formula_script(
    "own_task", "t-{task}", _TASK, _NETWORK, *FORMULA_LAYERS, common.CRITERION, common.OPTIMIZER,
    expand=_expanded, checks=(_check_hidden,),
    summary="Train units on a task of your own: a formula, a function or a table.",
    example="--target 'x1*x2 + x3' --train 1,2 --test 2,6 --layer-type NMU --seed 0-24",
    fields=(*nf.of_flags(*_NETWORK, *_TASK), nf.trailing(nf.CRITERION)),
)
TASK = OwnTask
