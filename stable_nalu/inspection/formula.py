"""What a network has learned, as a formula of its inputs, and whether it is the one asked for.

The network is recorded as the engine records it. A weight counts as what reaches the inputs: what
is computed from parameters alone is one number, and that is rounded. So every layer has a formula,
one of your own too, as long as the engine knows its operations. A formula equals its target by
algebra, or by numbers: inside each box that inputs may lie in, at its ends and around breaks.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import mpmath
import numpy as np
import sympy
import torch
from scipy.optimize import minimize

from stable_nalu.abstract import ExtendedTorchModule, extended_children
from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.simple_function import FunctionTargets
from stable_nalu.functional import product
from stable_nalu.layer.equations import EMLLayer
from torchlanes.graph import Graph, Node, ordered
from torchlanes.lower import RecordableProduct, Recording
from torchlanes.values import NotLoweredError, Tensors

Box = tuple[tuple[float, float], ...]
"""Where each input lies; no input has both signs."""

EXACT, ROUNDED, OTHER = "exact as trained", "exact after rounding", "right by another formula"
INSIDE, WRONG = "right only where it was trained", "wrong"
EXACT_VERDICTS = (EXACT, ROUNDED)
VERDICTS = (*EXACT_VERDICTS, OTHER, INSIDE, WRONG)

FARTHEST = 0.1
"""How far a weight may be from a whole number to be rounded to it."""
GUARD = 2.0**-22
"""Constants of layers below this only keep numbers finite; rounded formulas leave them out."""
MOST_BOXES, LONGEST = 64, 1_000
"""Boxes that are read; terms of a difference from which on algebra is not tried."""
LARGEST = 10_000
"""Parts of a formula as it would be written, with what is used twice written twice: a longer one
takes a second or more, and nobody can read it."""
ALGEBRA, NUMBERS = "algebra", "equal to 12 digits at points of each range"
POINTS, FIRST = 200, 5
"""Points inside a box, and how many of them are tried before algebra is."""
CLOSE = 1e-12
"""The share of the target by which an equal formula may differ, with constants in double."""
SMALL, RARE = 5e-4, 0.1
"""Around breaks a formula may differ by a share of the usual target, at few of all points."""
MOST_BREAKS, MOST_SEARCHED = 50, 10
"""Breaks whose sides are searched for; inputs from which on no largest difference is."""
NO_NUMBERS = sympy.nan, sympy.zoo, sympy.oo
_FAILURES = (ArithmeticError, ValueError, TypeError)

PRODUCTS = {product: lambda factors: RecordableProduct.apply(factors, -2)}
"""What records a function of this package otherwise than by its operations."""

IV: Any = mpmath.iv
NUMERIC: dict[str, Callable[..., Any]] = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide},
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1},
    **{"log": np.log, "log1p": np.log1p, "tanh": np.tanh, "sin": np.sin, "cos": np.cos},
    **{"sigmoid": lambda a: float(0.5 * (1 + np.tanh(0.5 * a))), "sinh": np.sinh},
    **{"cosh": np.cosh, "erf": math.erf, "sign": np.sign},
    **{"rint": np.rint, "pow": np.power, "max": np.maximum, "min": np.minimum},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal, "and": np.logical_and, "or": np.logical_or},
    **{"not": np.logical_not, "xor": np.logical_xor, "where": lambda c, a, b: a if c else b},
}
SYMBOLIC: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv},
    **{"neg": operator.neg, "abs": sympy.Abs, "sqrt": sympy.sqrt, "pow": operator.pow},
    **{"exp": sympy.exp, "expm1": lambda a: sympy.exp(a) - 1, "log": sympy.log},
    **{"log1p": lambda a: sympy.log(1 + a), "tanh": sympy.tanh, "sin": sympy.sin},
    **{"sigmoid": lambda a: 1 / (1 + sympy.exp(-a)), "cos": sympy.cos, "sinh": sympy.sinh},
    **{"cosh": sympy.cosh, "erf": sympy.erf, "sign": sympy.sign},
    **{"max": sympy.Max, "min": sympy.Min, "eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt},
    **{"le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge, "and": sympy.And, "or": sympy.Or},
    **{"not": sympy.Not, "where": lambda c, a, b: sympy.Piecewise((a, c), (b, True))},
}
BOUNDS: dict[str, Callable[..., Any]] = {
    **{op: SYMBOLIC[op] for op in ("add", "sub", "mul", "div", "neg", "pow")},
    **{op: getattr(IV, op) for op in ("sqrt", "exp", "log", "sin", "cos")},
    **{"abs": abs, "expm1": lambda a: IV.exp(a) - 1, "log1p": lambda a: IV.log(1 + a)},
    "max": lambda a, b: IV.mpf([max(a.a, b.a), max(a.b, b.b)]),
    "min": lambda a, b: IV.mpf([min(a.a, b.a), min(a.b, b.b)]),
    "sigmoid": lambda a: 1 / (1 + IV.exp(-a)),
    "tanh": lambda a: 1 - 2 / (IV.exp(2 * a) + 1),
}


def _within(op: str, withins: Sequence[Any]) -> Any:
    """Return the interval of a result; None if it is not known."""
    if op not in BOUNDS or any(within is None for within in withins):
        return None
    try:
        return BOUNDS[op](*withins)
    except (ArithmeticError, ValueError, NotImplementedError):
        return None


def _decided(op: str, exprs: Sequence[Any], withins: Sequence[Any]) -> Any:
    """Return the result that intervals decide, such as a sign or a truth; None if they do not."""
    if op in ("sign", "abs"):
        (a,), (within,) = exprs, withins
        if within is None or a.is_positive or a.is_negative or not (within.a > 0 or within.b < 0):
            return None
        sign = sympy.Integer(1 if within.a > 0 else -1)
        return sign if op == "sign" else sign * a
    if op not in ("max", "min", "gt", "ge", "lt", "le", "eq", "ne"):
        return None
    a, b = exprs
    relation = None if op in ("max", "min") else SYMBOLIC[op](a, b)
    if relation in (sympy.true, sympy.false):
        return bool(relation)
    of_a, of_b = withins
    if of_a is None or of_b is None:
        return None
    if relation is None:
        larger = a if of_a.a >= of_b.b else b if of_b.a >= of_a.b else None
        smaller = a if of_a.b <= of_b.a else b if of_b.b <= of_a.a else None
        return larger if op == "max" else smaller
    above, below = of_a.a > of_b.b, of_a.b < of_b.a
    truth = {"gt": above, "ge": above, "lt": below, "le": below, "eq": False, "ne": True}
    return truth[op] if above or below else None


@dataclass(frozen=True)
class Certificate:
    """What a network has learned.

    learned, rounded: its formula with the weights as trained, and with weights rounded to whole
    numbers. If the formula depends on the signs of inputs, it is for the signs of the first box;
    for a recurrent network, it is for a sequence of one step, or with `of_sums` for sums over any.
    change: by how much the farthest weight was rounded, in any box of inputs. proof: how
    equality with the target was shown, if it was. within: the largest difference from it that was
    found, also by constants that only keep numbers finite, which the rounded formula leaves out.
    ulps: by how many units in the last place the formula and the network differ, both with the
    weights as trained.
    """

    verdict: str
    learned: sympy.Expr
    rounded: sympy.Expr
    target: sympy.Expr
    change: float
    proof: str = ""
    ulps: float = math.nan
    of_sums: bool = False
    within: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Return whether the target was learned, with weights as trained or rounded."""
        return self.verdict in EXACT_VERDICTS

    @property
    def row(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "formula": str(self.rounded),
            "largest.rounding": self.change,
            "proof": self.proof + f";{self._within}" * bool(self.within) if self.is_exact else "",
        }

    @property
    def _within(self) -> str:
        """Return the largest difference in one digit, not below it."""
        if not self.within:
            return ""
        unit = 10.0 ** math.floor(math.log10(self.within))
        return f" to within {math.ceil(self.within / unit * (1 - 1e-6)) * unit:.1g}"

    def __str__(self) -> str:
        if self.is_exact:
            how = f" (weights by at most {self.change:.2g})" if self.change else ""
            sums = " of sums over all steps" if self.of_sums else ""
            learned = f"learned: {self.rounded}{sums}, "
            if self.proof == ALGEBRA and not self.within:
                return f"{learned}{self.verdict}{how}"
            verdict = self.verdict.removeprefix("exact ")
            target = "" if self.rounded == self.target else f" to {self.target}"
            return f"{learned}{verdict}{how}, equal{target}{self._within or ' to 12 digits'}"
        # Rounding by more than is allowed may lead to the target.
        is_target = sympy.expand(self.rounded - self.target) == 0
        shown = self.learned if self.verdict == OTHER or is_target else self.rounded
        if not shown.free_symbols:
            what = f"the answer is always {sympy.N(shown, 4)}"
        elif sympy.count_ops(shown) > 30:
            what = "the formula has no short form"
        else:
            what = f"it computes {sympy.N(shown, 4)}"
        return f"{self.verdict}: {what}, not {self.target}"


@dataclass
class BoxFormulas:
    """The formulas of outputs in a box.

    change: by how much the farthest weight was rounded. lacks_constants: whether some were left
    out that only keep numbers finite.
    """

    box: Box
    symbols: list[sympy.Symbol]
    exprs: list[sympy.Expr]
    change: float = 0.0
    lacks_constants: bool = False


@contextmanager
def as_evaluated(model: torch.nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    units = [model] if isinstance(model, ExtendedTorchModule) else extended_children(model)
    model.eval()
    try:
        with torch.no_grad(), ExitStack() as stack:
            for unit in units:
                stack.enter_context(unit.no_random())
            yield
    finally:
        for module, training in modes:
            module.training = training


class NetworkFormula:
    """The outputs of a network as nodes, which are read with weights as trained or rounded."""

    def __init__(self, model: torch.nn.Module, inputs: int):
        tensors = Tensors(Graph(), math.inf)
        tensors.most = math.inf
        state = dict(model.named_parameters()) | dict(model.named_buffers())
        state = {name: value.detach().clone() for name, value in state.items()}
        self.numbers = {name: value.double().numpy() for name, value in state.items()}
        dtype = next((p.dtype for p in model.parameters()), None)
        x = torch.full((2, inputs), 1.5, dtype=dtype)
        given = {n: (value, tensors.stored(n, value.shape)) for n, value in state.items()}
        rows = {"x": (x, tensors.stored("x", x.shape, 0))}
        try:
            with as_evaluated(model):
                found, _ = Recording(model, x.dtype, PRODUCTS).lowered(
                    lambda own, rows: {"y": model(rows["x"])}, tensors, given, rows
                )
        except NotLoweredError as error:
            raise UsageError(f"no formula: {error}") from None
        self.outputs: list[Node] = list(found["y"].nodes.reshape(-1))
        self.nodes = ordered(self.outputs)
        parts: dict[Node, int] = {}
        for node in self.nodes:
            parts[node] = 1 + sum(parts[arg] for arg in node.args)
        largest = max(parts[node] for node in self.outputs)
        if largest > LARGEST:
            raise UsageError(f"no formula: it would have {largest:,} parts, more than {LARGEST:,}")

    def read(self, box: Box, *, rounded: bool, whole: bool = False) -> BoxFormulas:
        """Return the formulas for inputs that lie in a box; whole: with every constant."""
        return _NetworkReading(self, box, rounded=rounded, whole=whole)


class TreeFormula:
    """The tree of the likeliest choices of a network that is an EML tree and nothing else."""

    def __init__(self, tree: EMLLayer):
        self.tree = tree

    @classmethod
    def of(cls, model: torch.nn.Module) -> "TreeFormula | None":
        """Return the tree of a network, or None if the network is anything else."""
        trees = [module for module in model.modules() if isinstance(module, EMLLayer)]
        same = len(trees) == 1 and len([*trees[0].parameters()]) == len([*model.parameters()])
        return cls(trees[0]) if same and trees[0].out_features == 1 else None

    def read(self, box: Box, *, rounded: bool, whole: bool = False) -> BoxFormulas:
        """Return the formula, which is the same in all boxes, rounded or not.

        The tree's doubt about its choices counts as the change by rounding.
        """
        symbols = symbols_of(box)
        computed = self.tree.computed(*symbols[: self.tree.in_features])
        return BoxFormulas(box, symbols, [computed], self.tree.doubt())


@dataclass(frozen=True)
class _Term:
    """The meaning of a node: a number, or an expression of inputs and the interval it lies in.

    is_learned: a number that follows from parameters.
    """

    number: Any = None
    expr: Any = None
    within: Any = None
    is_learned: bool = False


class _NetworkReading(BoxFormulas):
    def __init__(self, formula: NetworkFormula, box: Box, *, rounded: bool, whole: bool):
        super().__init__(box, symbols_of(box), [])
        self.numbers = formula.numbers
        self.rounded = rounded
        self.guard = 0.0 if whole or not rounded else GUARD
        terms: dict[Node, _Term] = {}
        for node in formula.nodes:
            terms[node] = self._term(node, [terms[arg] for arg in node.args])
        self.exprs = [self._symbolic(terms[node])[0] for node in formula.outputs]

    def _term(self, node: Node, args: list[_Term]) -> _Term:
        place: Any = node.index  # Without counters, as all is written out.
        if node.op == "const":
            return _Term(node.value)
        if node.op == "load" and node.name != "x":
            return _Term(float(self.numbers[node.name][place]), is_learned=True)
        if node.op == "load":
            return _Term(expr=self.symbols[place[1]], within=IV.mpf(self.box[place[1]]))
        if node.op == "where" and args[0].number is not None:
            return args[1] if args[0].number else args[2]
        if all(arg.number is not None for arg in args):
            with np.errstate(all="ignore"):
                found = NUMERIC[node.op](*(arg.number for arg in args))
            return _Term(found, is_learned=any(arg.is_learned for arg in args))
        if node.op not in SYMBOLIC:
            raise UsageError(f"no formula: operation {node.op} on inputs")
        exprs, withins = zip(*(self._symbolic(arg, node.op) for arg in args), strict=True)
        within, expr = _within(node.op, withins), _decided(node.op, exprs, withins)
        if isinstance(expr, bool):
            return _Term(expr)
        if expr is None:
            try:
                expr = SYMBOLIC[node.op](*exprs)
            except ValueError:  # What sympy refuses is no number, such as max(nan).
                expr = sympy.nan
        return _Term(expr=expr, within=within)

    def _symbolic(self, term: _Term, op: str = "") -> tuple[Any, Any]:
        """Return an argument of an operation on inputs as expression and interval."""
        if term.number is None:
            return term.expr, term.within
        if isinstance(term.number, bool | np.bool_):
            return sympy.true if term.number else sympy.false, None
        value = float(term.number)
        if self.rounded and term.is_learned and math.isfinite(value):
            self.change = max(self.change, abs(value - round(value)))
            value = float(round(value))
        elif op in ("add", "sub", "max") and 0 < abs(value) <= self.guard:
            self.lacks_constants = True
            value = 0.0
        return _exactly(value), IV.mpf(value) if math.isfinite(value) else None


def _exactly(value: float) -> sympy.Expr:
    """Return a number: a whole one, a multiple of pi or its half, or a float."""
    if not math.isfinite(value):
        return sympy.nan
    if value == round(value):
        return sympy.Integer(round(value))
    turns = value / math.pi * 2
    if round(turns) and abs(turns - round(turns)) < 1e-6 * abs(turns):
        return sympy.pi * sympy.Rational(round(turns), 2)
    return sympy.Float(value)


def symbols_of(box: Box) -> list[sympy.Symbol]:
    """Return the inputs x1, x2, … with the signs that they have in a box."""

    def sign(low: float, high: float) -> str:
        return "positive" if low >= 0 else "negative" if high <= 0 else "real"

    return [sympy.Symbol(f"x{k}", **{sign(*ends): True}) for k, ends in enumerate(box, start=1)]


def boxes(intervals: Sequence[Sequence[float]], inputs: int, used: Sequence[int]) -> Iterator[Box]:
    """Return where inputs may lie: each used one in each interval, split where the sign changes."""
    parts = []
    for low, high in intervals:
        cut = [low, 0.0, high] if low < 0 < high else [low, high]
        parts += [(a, b) for a, b in itertools.pairwise(cut)]
    for chosen in itertools.product(parts, repeat=len(used)):
        found = [parts[0]] * inputs
        for place, part in zip(used, chosen, strict=True):
            found[place] = part
        yield tuple(found)


def target_of(targets: FunctionTargets, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    sums = [sum(symbols[start:end], sympy.Integer(0)) for start, end in targets.operands]
    if targets.operation.name == "root":
        return sympy.sqrt(sums[0])
    combine: Callable[..., Any] = targets.operation.combine
    return combine(*np.array([*sums, None], object)[:-1])  # so that NumPy keeps its hands off


def certificate(
    model: ExtendedTorchModule,
    targets: FunctionTargets,
    inputs: int,
    intervals: Sequence[Sequence[float]],
    *,
    solved: bool,
    solved_inside: bool,
) -> Certificate:
    """Return what a network has learned, and whether it is the target wherever it is tested.

    intervals: those that inputs of the test lie in. solved, solved_inside: whether its error there,
    and in the training range, is below the threshold of its task.
    """
    formula = TreeFormula.of(model) or NetworkFormula(model, inputs)
    (first,) = boxes(intervals, inputs, ())
    learned, rounded = (formula.read(first, rounded=r) for r in (False, True))
    target = target_of(targets, rounded.symbols)
    read = rounded.exprs[0].free_symbols | target.free_symbols
    used = [k for k, symbol in enumerate(rounded.symbols) if symbol in read]
    how, change, within = ALGEBRA, rounded.change, 0.0
    for count, box in enumerate(boxes(intervals, inputs, used)):
        reading = formula.read(box, rounded=True)
        change = max(change, reading.change)
        equal = _equality(formula, targets, reading) if count < MOST_BOXES else None
        if equal is None:
            how = ""
            break
        how, within = equal[0] or how, max(within, equal[1])
    verdict = _verdict(change if how else math.inf, solved, solved_inside)
    formulas = learned.exprs[0], rounded.exprs[0], target
    return Certificate(verdict, *formulas, change, how, _gap(model, learned), within=within)


def _verdict(change: float, solved: bool, solved_inside: bool) -> str:
    """Return the verdict on weights that are so far from the target's; infinite: not the target."""
    if change <= FARTHEST:
        return ROUNDED if change else EXACT
    return OTHER if solved else INSIDE if solved_inside else WRONG


def recurrent_certificate(
    network: Any,
    targets: FunctionTargets,
    inputs: int,
    intervals: Sequence[Sequence[float]],
    **outcome: bool,
) -> Certificate:
    """Return what a recurrent network computes of sums over the steps of a sequence.

    It is right for every length if it is right for one step, and every step adds to the state what
    follows from its inputs alone.
    """
    found = certificate(_OneStep(network), targets, inputs, intervals, **outcome)
    change = _change_of_adding(network, intervals) if found.is_exact else math.inf
    change = max(change, found.change)
    is_sum: Any = {"change": change, "of_sums": True} if change <= FARTHEST else {"proof": ""}
    return replace(found, verdict=_verdict(change, **outcome), **is_sum)


class _OneStep(ExtendedTorchModule):
    """A recurrent network for sequences of one step; its next state, if inputs hold a state."""

    def __init__(self, network: Any):
        super().__init__("one_step")
        self.network = network

    def reset_parameters(self) -> None:
        """Leave the network as it was trained."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        network, inputs = self.network, self.network.input_size
        if x.shape[-1] == inputs:
            return network(x.unsqueeze(-2))
        return network.recurent_cell.unroll(x[..., None, :inputs], x[..., inputs:])


def _change_of_adding(network: Any, intervals: Sequence[Sequence[float]]) -> float:
    """Return by how much weights are rounded for every step to add what follows from its inputs.

    Infinite where it does not.
    """
    inputs, hidden = network.input_size, network.hidden_size
    formula = NetworkFormula(_OneStep(network), inputs + hidden)
    (first,) = boxes(intervals, inputs, ())
    state = itertools.product([(-1e6, -1e-6), (1e-6, 1e6)], repeat=hidden)
    change = 0.0
    for signs in itertools.islice(state, MOST_BOXES):
        reading = formula.read((*first, *signs), rounded=True)
        change = max(change, reading.change)
        x, states = reading.symbols[:inputs], reading.symbols[inputs:]
        for expr, own in zip(reading.exprs, states, strict=True):
            added = sympy.expand(expr - own)
            slopes = [sympy.diff(added, symbol) for symbol in x]
            is_sum = sympy.expand(added - sum(map(operator.mul, slopes, x))) == 0
            if not is_sum or any(slope.free_symbols for slope in slopes):
                return math.inf
    return change


def _equality(
    formula: NetworkFormula | TreeFormula, targets: FunctionTargets, reading: BoxFormulas
) -> tuple[str, float] | None:
    """Return how numbers showed a formula to be the target, if it took them, and the difference.

    None: it is another one.
    """
    target, how, within = target_of(targets, reading.symbols), "", 0.0
    difference = reading.exprs[0] - target
    if difference != 0:
        comparison = Comparison(difference, target, reading)
        # What differs in numbers is not worth the algebra, which can take hours.
        if comparison.gap(FIRST, 0.5) is None:
            return None
        is_short = _terms(difference) < LONGEST
        if not is_short or (sympy.expand(difference) != 0 and sympy.simplify(difference) != 0):
            gap = comparison.gap()
            if gap is None:
                return None
            how, within = NUMBERS, gap
    if reading.lacks_constants:
        whole = formula.read(reading.box, rounded=True, whole=True).exprs[0]
        gap = Comparison(whole - target, target, reading).largest_if_small()
        return None if gap is None else (how, max(within, gap))
    return how, within


def _terms(expression: Any) -> float:
    """Return how many terms an expression has once it is expanded, at least as many as parts."""
    parts = [_terms(arg) for arg in expression.args]
    if expression.is_Mul:
        return max(math.prod(parts), sum(parts))
    if expression.is_Pow and expression.args[1].is_Integer:
        return parts[0] ** min(64, abs(int(expression.args[1]))) if parts[0] > 1 else 1
    return max(1, sum(parts))


_EXTREMES = {"largest": np.maximum, "smallest": np.minimum}


def _numeric(symbols: Sequence[sympy.Symbol], expr: sympy.Expr) -> Callable[..., Any]:
    """Return a formula as a function of arrays; sympy 1.13 fails at Max of arrays and numbers."""
    largest, smallest = map(sympy.Function, _EXTREMES)
    named = expr.replace(sympy.Max, largest).replace(sympy.Min, smallest)
    own = {name: lambda *x, f=f: reduce(f, x) for name, f in _EXTREMES.items()}
    return sympy.lambdify(symbols, named, [own, "scipy", "numpy"])


def _gap(model: ExtendedTorchModule, learned: BoxFormulas) -> float:
    """Return by how many units in the last place of its precision network and formula differ.

    Both have the weights as trained; the largest difference at points of a box.
    """
    if learned.exprs[0].has(*NO_NUMBERS):
        return math.nan
    at = _numeric(learned.symbols, learned.exprs[0])
    points = torch.as_tensor(points_of(learned.box), dtype=torch.get_default_dtype())
    with as_evaluated(model):
        own = model(points)[:, 0].double().numpy()
    with np.errstate(all="ignore"):
        found = np.broadcast_to(at(*points.double().numpy().T), own.shape).astype(float)
        unit = torch.finfo(points.dtype).eps * np.maximum(np.abs(own), np.finfo(np.float32).tiny)
        return float(np.max(np.abs(found - own) / unit))


def points_of(box: Box) -> np.ndarray:
    """Return points inside a box, the same in every call."""
    low, high = np.array(box).T
    return low + (high - low) * np.random.default_rng(0).uniform(0.01, 0.99, (POINTS, len(box)))


class Comparison:
    """A difference from a target, which is compared at points that are new in every comparison."""

    def __init__(self, difference: sympy.Expr, target: sympy.Expr, reading: BoxFormulas):
        self._difference, self._symbols, self._box = difference, reading.symbols, reading.box
        parts = [sympy.oo if difference.has(*NO_NUMBERS) else difference, target]
        self._at = sympy.lambdify(self._symbols, parts, "mpmath")
        self._random = np.random.default_rng()
        ends = np.array(self._box)
        # An end of zero, where no target is defined, is taken at this share of the box.
        shift = 1e-6 * (ends[:, 1] - ends[:, 0])
        self._ends = np.where(ends == 0, np.stack([shift, -shift], -1), ends)

    def largest_if_small(self) -> float | None:
        """Return the largest difference at fixed points; None if mostly above 1 % of the target."""
        found = [self._values(point)[:2] for point in points_of(self._box)]
        is_small = sum(gap <= 0.01 * whole for gap, whole in found) > POINTS / 2
        return max(gap for gap, _ in found) if is_small else None

    def gap(self, count: int = POINTS, rare: float = RARE) -> float | None:
        """Return the largest difference of an equal formula, 0 within rounding; None if not equal.

        It is no more than rounding at nearly all points inside; of all `POINTS`, also small at
        special places.
        """
        low, high = self._ends.T
        points = low + (high - low) * self._random.uniform(size=(count, len(low)))
        found = [self._values(point)[:2] for point in points]
        usual = float(np.quantile([whole for _, whole in found], 0.9))
        differ = [gap for gap, whole in found if not gap <= CLOSE * max(whole, SMALL * usual)]
        if len(differ) > rare * count:
            return None
        special = self._special(points) if count == POINTS else ()
        found += [self._values(point)[:2] for point in special]
        if not all(gap <= SMALL * max(whole, usual) for gap, whole in found):
            return None
        return max((gap for gap, whole in found if gap > CLOSE * max(whole, usual)), default=0.0)

    def _values(self, point: np.ndarray) -> tuple[float, float, float]:
        """Return the sizes of difference and target, and the logarithm of their quotient.

        They are computed in 30 digits. An infinite difference is no number.
        """
        with mpmath.workdps(30):
            try:
                gap, whole = map(abs, self._at(*map(mpmath.mpf, map(float, point))))
                share = float(mpmath.log(gap / whole)) if gap and whole else -math.inf
                return float(gap), float(whole), share
            except _FAILURES:
                return math.inf, 0.0, -math.inf

    def _special(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield points at ends of inputs, where the difference is largest, and around breaks."""
        low, high = self._ends.T
        for point in points[::2]:
            end, free = self._random.uniform(size=(2, len(low)))
            yield np.where(free < 0.5, np.where(end < 0.5, low, high), point)
        # The logarithm of the share of the difference shows far-off bumps.
        shares = [self._values(point)[2] for point in points]
        used = self._used(self._difference)
        if max(shares) > -math.inf and len(used) <= MOST_SEARCHED:
            for place in np.argsort(shares)[[-1, len(points) // 2]]:
                yield self._climbed(lambda point: self._values(point)[2], points[place], used)
        for expr in itertools.islice(_breaks(self._difference), MOST_BREAKS):
            yield from self._sides(expr, points)

    def _used(self, expr: sympy.Expr) -> list[int]:
        return [k for k, symbol in enumerate(self._symbols) if symbol in expr.free_symbols]

    def _climbed(
        self, height: Callable[[np.ndarray], float], start: np.ndarray, used: list[int]
    ) -> np.ndarray:
        """Return where some coordinates lead a search for the largest height."""

        def moved(values: np.ndarray) -> np.ndarray:
            point = start.copy()
            point[used] = values
            return point

        def depth(values: np.ndarray) -> float:
            found = -height(moved(values))
            return found if math.isfinite(found) else 1e30

        how: Any = {"bounds": list(map(tuple, self._ends[used])), "options": {"maxfev": 300}}
        found = minimize(depth, start[used], method="Powell", **how)
        return np.clip(moved(found.x), *self._ends.T)

    def _sides(self, expr: sympy.Expr, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield points on both sides of where an expression is zero, from far to near."""
        at = _numeric(self._symbols, expr)

        def value(point: np.ndarray) -> float:
            with np.errstate(all="ignore"):
                try:
                    return float(at(*point))
                except _FAILURES:
                    return math.nan

        heights = np.nan_to_num([value(point) for point in points])
        used = self._used(expr)
        above = self._climbed(value, points[heights.argmax()], used)
        below = self._climbed(lambda point: -value(point), points[heights.argmin()], used)
        yield from (above, below)
        if value(above) > 0 > value(below):
            for step in range(40):
                middle = (above + below) / 2
                above, below = (middle, below) if value(middle) > 0 else (above, middle)
                if step % 4 == 0:
                    yield from (above, below)


def _breaks(expr: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield what is zero where a part of an expression goes over into another."""
    seen = set()
    for part in sympy.preorder_traversal(expr):
        pairs: Sequence[tuple[Any, Any]] = ()
        if isinstance(part, sympy.Abs | sympy.sign):
            pairs = [(part.args[0], 0)]
        elif isinstance(part, sympy.Max | sympy.Min):
            pairs = list(itertools.combinations(part.args, 2))
        elif isinstance(part, sympy.core.relational.Relational):
            pairs = [(part.lhs, part.rhs)]
        for a, b in pairs:
            if (found := a - b) not in seen and found.free_symbols:
                seen.add(found)
                yield found
