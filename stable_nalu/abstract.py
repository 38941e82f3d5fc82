"""The base class of layers, cells and networks, what it logs and draws, and many runs as one."""

import inspect
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from inspect import Parameter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import torch

from .functional import per_run, sparsity_error
from .writer import NO_WRITER


@dataclass(frozen=True)
class Observation:
    """A named value of one module. `value()` returns it with the run dimensions first.

    A scalar has shape `runs`. A summary becomes mean, variance and norm; a tensor, text.
    `verbose_only` observations are evaluated and written only for `--verbose` runs.
    """

    kind: Literal["scalar", "summary", "tensor", "histogram"]
    name: str
    value: Callable[[], torch.Tensor]
    verbose_only: bool = True


def weight_observations(
    name: str,
    W: Callable[[], torch.Tensor],
    *,
    ndim: int = 2,
    text_always: bool = False,
    histogram: bool = True,
    sparsity: bool = True,
) -> list[Observation]:
    """Return histogram, text and sparsity error of one weight matrix (or vector, `ndim=1`).

    With `text_always` the text is always written, and the sparsity error only for verbose runs.
    `histogram=False` and `sparsity=False` leave these out.
    """
    observed = [Observation("histogram", name, W)] if histogram else []
    observed.append(Observation("tensor", name, W, verbose_only=not text_always))
    error = Observation(
        "scalar", f"{name}/sparsity_error", lambda: sparsity_error(W(), ndim), text_always
    )
    return [*observed, error] if sparsity else observed


Bound = float | torch.Tensor
Fill = Callable[[torch.Tensor, torch.Generator | None, int | None], object]


class RandomSource:
    """Draws on the CPU from torch's global generator, for a single run.

    Every method takes the shape of one run and returns `(*runs, *shape)` in the dtype and on the
    device of `like`. An ensemble overrides `fill` to use one generator per run.
    """

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        """Call `draw(buffer, generator, run)` to fill the buffer of each run in place."""
        buffer = torch.empty(shape, dtype=like.dtype)
        draw(buffer, None, None)
        return buffer.to(like.device)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        """Draw from U(low, high); a bound is a number or a tensor of shape `runs`."""
        if torch.compiler.is_compiling() and isinstance(high, torch.Tensor):
            # Code that torch compiles cannot take a number out of a tensor.
            return scaled(self.uniform(shape, 0, 1, like), low, high, len(shape))

        def bound(value: Bound, run: int | None) -> float:
            if isinstance(value, torch.Tensor):
                return (value if run is None else value.flatten()[run]).item()
            return value

        def draw(buffer, generator, run):
            buffer.uniform_(bound(low, run), bound(high, run), generator=generator)

        return self.fill(shape, like, draw)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self.fill(shape, like, lambda buffer, g, _: buffer.exponential_(generator=g))

    def normal(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self.fill(shape, like, lambda buffer, g, _: buffer.normal_(generator=g))

    def multinomial(self, shape: tuple[int, ...], probabilities: torch.Tensor) -> torch.Tensor:
        """Draw a category per row: probabilities `(*runs, *rows, K)`, `shape` = `(*rows, K)`."""
        # torch.multinomial of one sample is this race of exponentials: equal numbers, but here
        # every run can draw from its own generator.
        race = probabilities.detach() / self.exponential(shape, like=probabilities)
        return race.argmax(-1)


def scaled(unit: torch.Tensor, low: Bound, high: Bound, ndim: int) -> torch.Tensor:
    """Return noise from [0, 1), of `ndim` dimensions per run, scaled to [low, high)."""
    low, high = (per_run(b, ndim) if isinstance(b, torch.Tensor) else b for b in (low, high))
    return unit * (high - low) + low


GLOBAL_RANDOM = RandomSource()


class PerRunRandomSource(RandomSource):
    """A source that draws for every run what that run alone would draw from torch's generator."""

    def __init__(self, generators: Sequence[torch.Generator]):
        self.generators = list(generators)

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        buffer = torch.empty((len(self.generators), *shape), dtype=like.dtype)
        for run, generator in enumerate(self.generators):
            draw(buffer[run], generator, run)
        return buffer.to(like.device)


COOLING = 1e-5
"""By how much the logarithm of the Gumbel temperature falls in an iteration."""

Term = Callable[[], torch.Tensor]


class _InitializeWhenComplete(type):
    """A metaclass that calls `reset_parameters` once, when the outermost module is complete.

    A layer built on its own is ready to use; inside a network the network's order of
    initialisation decides which weight gets which random numbers. Like torch's modules, each takes
    `dtype` and `device`, which hold for all that its constructor makes. Modules within one that
    has a writer write to it, too.
    """

    _building: ClassVar[list[type]] = []
    """The classes of which a module is being built, the outermost first."""
    is_as_published: bool
    initialises_itself: bool

    @property
    def __signature__(cls) -> inspect.Signature:
        return _constructor(cls)

    def __call__(cls, *args, **kwargs):
        # Published classes may have parameters of their own so called.
        own = inspect.signature(cls.__init__).parameters if cls.is_as_published else ()
        dtype, device = (None if n in own else kwargs.pop(n, None) for n in ("dtype", "device"))
        cls._building.append(cls)
        try:
            with default_dtype(dtype), nullcontext() if device is None else torch.device(device):
                module = super().__call__(*args, **kwargs)
        finally:
            cls._building.pop()
        if not (cls._building or cls.is_as_published or cls.initialises_itself):
            module.reset_parameters()
        if module.writer is not NO_WRITER and not cls.is_as_published:
            _hand_on(module, module.writer.parent)
        return module


@contextmanager
def default_dtype(dtype: torch.dtype | None) -> Iterator[None]:
    """Let new tensors be of a floating-point dtype while this lasts; None: of the usual one."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype or default)
    try:
        yield
    finally:
        torch.set_default_dtype(default)


def _keyword(name: str, default: Any, annotation: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


@cache
def _constructor(cls: "type[ExtendedTorchModule]") -> inspect.Signature:
    """Return what a class takes; `option_defaults` and keywords of bases replace `**options`."""
    builders = [base for base in cls.__mro__ if "__init__" in vars(base)]
    handing = [base for base in builders if hasattr(base, "option_defaults")]
    named: dict[str, Parameter] = {}
    for base in handing or builders[:1]:
        every = list(inspect.signature(base.__init__).parameters.values())[1:]
        own = [p for p in every if p.kind is not p.VAR_POSITIONAL]
        handed = [p for p in own if not named or p.kind is p.KEYWORD_ONLY]
        named |= {p.name: p for p in handed if p.name not in named}
        if not any(p.kind is p.VAR_KEYWORD for p in own):
            break
    else:
        if handing:
            named = {name: p for name, p in named.items() if p.kind is not p.VAR_KEYWORD}
            last = {n: named.pop(n) for n in ("name", "writer") if n in named}
            options = cls.option_defaults.items()
            named |= {n: _keyword(n, default) for n, default in options if n not in named}
            named |= last
    named |= {n: _keyword(n, None, f"torch.{n} | None") for n in ("dtype", "device")}
    return inspect.Signature(sorted(named.values(), key=lambda p: p.kind))


class ExtendedTorchModule(torch.nn.Module, metaclass=_InitializeWhenComplete):
    """A module with regularisers, range constraints, a post-step hook and observed values.

    It is written over leading run dimensions: `(*runs, batch, features)`, parameters
    `(*runs, …)`; a single run is `runs == ()`. A subclass overrides, as needed:

    `reset_parameters`      initial values; called once when construction is complete
    `regualizer_terms`      penalties as functions, so that a term of weight zero costs nothing
    `parameter_bounds`      ranges that parameters are clamped to after an optimiser step
    `after_step`            other changes of state after a step
    `observations`          what is worth logging about the last forward pass
    """

    evaluates_rows_independently = True
    """False for a module that samples, or mixes rows of a batch, in evaluation mode."""
    clock_reads: frozenset[str] = frozenset()
    """Which of `iteration` and `progress` its code has read."""
    _iteration, _progress = 0, 0.0
    passes_per_forward = 1
    """How often its parent runs it in one forward pass; its values are logged as often."""
    use_robustness_exp_logging = False
    """True in the robustness experiments, where some layers always log their weights as text."""
    namespace_is_sibling = False
    """True for a child whose tags stand beside those of its parent instead of below."""
    forgets: ClassVar[dict[str, Any]] = {}
    """Attributes that a forward pass leaves behind, with their values in copies of the module."""
    is_as_published = True
    """Whether it behaves as the published base where that one leaves more to its subclasses.

    True for classes of users directly over this one. Nothing calls their `reset_parameters`, their
    modules write only to a writer that they are given, and a plain container ends recursion.
    """
    initialises_itself = False
    """True for networks: their constructors end so, and what subclasses set then stays."""
    writer: Any = NO_WRITER
    published_state: ClassVar[dict[str, str | None]] = {}
    """Names in published state dictionaries, or how they begin, and the own ones; None: dropped."""
    obstacle: str | None = None
    """Why many runs of it cannot be stacked; they are then trained one after another."""
    shown = ("unit_name", "input_size", "hidden_size", "in_features", "out_features")
    """Attributes that printing the module always shows."""

    if TYPE_CHECKING:
        option_defaults: ClassVar[dict[str, Any]]

        # Parameters and children are attributes that torch registers at run time.
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("stable_nalu."):
            cls.is_as_published = False

    def __init__(
        self,
        default_name: str,
        *_: Any,
        writer: Any = None,
        name: str | None = None,
        use_robustness_exp_logging: bool = False,
        **_ignored: Any,
    ):
        """Take a writer to log below, under `name` or else the default; ignore all else."""
        super().__init__()
        self.namespace = name or default_name
        self.use_robustness_exp_logging = use_robustness_exp_logging
        if writer is not None:
            _give_writer(self, writer)
        self.allow_random = True
        self.random: RandomSource = GLOBAL_RANDOM
        self.trace: dict[str, torch.Tensor] | None = None
        """Intermediate values of a forward pass, filled by layers when it is not None."""

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        for published, own in self.published_state.items():
            for key in [k for k in state if k.startswith(prefix + published)]:
                value = state.pop(key)
                if own is not None:
                    state[prefix + own + key.removeprefix(prefix + published)] = value
        super()._load_from_state_dict(state, prefix, *args)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | self.forgets

    @property
    def iteration(self) -> int:
        """Return the iteration that training, or else the writer, stands at; it counts from 0."""
        self._note_read("iteration")
        return self._iteration or self.writer.get_iteration()

    @iteration.setter
    def iteration(self, iteration: int) -> None:
        self.__dict__["_iteration"] = iteration

    @property
    def progress(self) -> float:
        """Return how much of the training is done: 0 at its first iteration, 1 at its last."""
        for own in (vars(self), self._modules):
            if "progress" in own:
                return own["progress"]
        self._note_read("progress")
        return self._progress

    @progress.setter
    def progress(self, value: Any) -> None:
        # A layer may call something of its own so, and then reads that.
        self.__dict__["progress"] = value

    def stand_at(self, iteration: int, progress: float) -> None:
        """Set where training stands, past the checks that torch makes of every attribute."""
        self.__dict__.update(_iteration=iteration, _progress=progress)

    def _note_read(self, name: str) -> None:
        # Code that is being compiled must not change the module.
        if name not in self.clock_reads and not torch.compiler.is_compiling():
            self.__dict__["clock_reads"] = self.clock_reads | {name}

    def extra_repr(self) -> str:
        """Return what printing the module shows: `shown`, and options that are not the default."""
        taken = inspect.signature(type(self)).parameters.values()
        options = [option for option in taken if option.kind is option.KEYWORD_ONLY]
        own = vars(self) | dict.fromkeys(dict(self.named_parameters(recurse=False)), True)
        absent = [o.name for o in options if getattr(self, o.name, own) is None]
        own = dict.fromkeys(absent, False) | own
        shown = {name: own[name] for name in self.shown if name in own}
        for option in options:
            if own.get(option.name) != option.default:
                shown.setdefault(option.name, own.get(option.name))
        return ", ".join(f"{name}={value}" for name, value in shown.items() if name in own)

    def reset_parameters(self) -> None:
        """Initialise all parameters, in the order that decides their random numbers."""
        for child in extended_children(self):
            child.reset_parameters()

    def regualizer_terms(self) -> dict[str, Term | None]:
        """Return own penalties by key; None is a term that these options switch off."""
        return {}

    def parameter_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the ranges of own parameters that are clamped after every optimiser step."""
        return {}

    def after_step(self, loss: torch.Tensor) -> None:
        """Change other state after a step, given the detached criterion (shape `runs`)."""

    def tau_at(self, iteration: int) -> float:
        """Return what training sets a parameter `tau` to: the Gumbel temperature, or own time."""
        return max(0.5, math.exp(-COOLING * iteration))

    def observations(self) -> list[Observation]:
        """Return what to log of this module itself; the caller asks the children."""
        return []

    def regualizer(
        self,
        merge_in: Mapping[str, Any] | set[str] | None = None,
        keys: set[str] | frozenset[str] | None = None,
    ) -> "defaultdict[str, Any]":
        """Return the penalties of this module and its children by key. Absent keys read 0.

        An override passes its own penalties to `super().regualizer`, as a dictionary to add.
        `keys`, a set, limits the result to these keys. It may be the first argument.
        """
        if isinstance(merge_in, set | frozenset):
            merge_in, keys = None, merge_in
        total: defaultdict[str, Any] = defaultdict(int)
        terms = self.regualizer_terms()
        for key, term in terms.items():
            if term is not None and (keys is None or key in keys):
                total[key] += term()
        for key, value in (merge_in or {}).items():
            total[key] += value
        for key in {**terms, **total}:
            self.writer.add_scalar(f"regualizer/{key}", total.get(key, 0))
        for child in self.reached_children():
            own = type(child).regualizer is ExtendedTorchModule.regualizer
            for key, value in (child.regualizer(keys=keys) if own else child.regualizer()).items():
                if keys is None or key in keys:
                    total[key] += value
        return total

    def optimize(self, loss: torch.Tensor) -> None:
        """Clamp bounded parameters and run the post-step hooks, here and in all children."""
        constrain([self], loss)
        for child in self.reached_children():
            child.optimize(loss)

    def set_parameter(self, name: str, value: float) -> None:
        """Fill the parameter `name` of every module that has one, in place."""
        if (own := self._parameters.get(name)) is not None:
            with torch.no_grad():
                own.fill_(value)
        for child in self.reached_children():
            child.set_parameter(name, value)

    def _gradients(self) -> "Iterator[tuple[ExtendedTorchModule, str, torch.Tensor]]":
        """Yield modules with name and gradient of each of their parameters that have one."""
        for name, parameter in self._parameters.items():
            if parameter is not None and parameter.requires_grad:
                if parameter.grad is None:
                    raise ValueError(f"{name} of {self.namespace} has no gradient: call backward()")
                yield self, name, parameter.grad
        for child in self.reached_children():
            yield from child._gradients()

    def log_gradients(self) -> None:
        """Write summary and histogram of the first row of each gradient."""
        for module, name, gradient in self._gradients():
            row = gradient[0] if gradient.ndim else gradient
            module.writer.add_summary(f"{name}/grad", row)
            module.writer.add_histogram(f"{name}/grad", row)

    def log_gradient_elems(self) -> None:
        """Write each element of each gradient."""
        for module, name, gradient in self._gradients():
            module.writer.add_grad_summary(f"{name}/grad", gradient)

    def log_gradients_mse_normalised(self, residual: torch.Tensor) -> None:
        """Write the sum of magnitudes of each gradient's first row, per mean residual."""
        for module, name, gradient in self._gradients():
            module.writer.add_mse_grad_summary(f"{name}/grad", gradient[0] / residual.mean(0))

    def log_learnable_parameters(self) -> None:
        """Write each element of each parameter that is trained."""
        for name, parameter in self._parameters.items():
            if parameter is not None and parameter.requires_grad:
                for place, value in enumerate(parameter.detach().flatten().tolist()):
                    self.writer.add_scalar(f"param/{name}/{place}", value, verbose_only=False)
        for child in self.reached_children():
            child.log_learnable_parameters()

    @contextmanager
    def no_internal_logging(self) -> Iterator[None]:
        """Let this module and those that write below it write nothing."""
        with self.writer.no_logging():
            yield

    def reached_children(self) -> "Iterator[ExtendedTorchModule]":
        """Iterate over the children that calls of this module are passed on to."""
        for child in self.children():
            if isinstance(child, ExtendedTorchModule):
                yield child
            elif not self.is_as_published:
                yield from extended_children(child)
            elif next(extended_children(child), None) is not None:
                _warn_of_container(type(self).__name__, type(child).__name__)

    def extended_modules(self) -> "Iterator[ExtendedTorchModule]":
        """Iterate over this module and all its descendants of the same kind."""
        return (m for m in self.modules() if isinstance(m, ExtendedTorchModule))

    @contextmanager
    def no_random(self):
        """Switch sampling and the recording of inputs off, here and in all children."""
        self.allow_random = False
        try:
            with ExitStack() as children:
                for child in self.reached_children():
                    children.enter_context(child.no_random())
                yield
        finally:
            self.allow_random = True


@cache
def _warn_of_container(module: str, container: str) -> None:
    warnings.warn(
        f"{module} does not reach the layers within its {container}: they get no penalties, bounds "
        "or parameters; make them attributes of it",
        stacklevel=5,
    )


def _give_writer(module: ExtendedTorchModule, outer: Any) -> None:
    """Let a module write what it observes of each forward pass below a writer."""
    module.writer = outer.namespace(module.namespace)
    if module.writer is not NO_WRITER:
        module.register_forward_pre_hook(_begin_pass)
        module.register_forward_hook(_end_pass)


def _hand_on(module: ExtendedTorchModule, outer: Any) -> None:
    """Give children without a writer the module's; a sibling namespace gets the outer writer."""
    for child in extended_children(module):
        if child.writer is NO_WRITER and not child.is_as_published:
            own = outer if child.namespace_is_sibling else module.writer
            _give_writer(child, own)
            _hand_on(child, own)


def _begin_pass(module: ExtendedTorchModule, _: Any) -> None:
    if module.trace is None and module.writer.writes(verbose_only=False):
        module.trace = {}


@torch.no_grad()
def _end_pass(module: ExtendedTorchModule, *_: Any) -> None:
    # A histogram refuses what is not a number in every iteration.
    for item in module.observations():
        if item.kind == "histogram" or module.writer.writes(item.verbose_only):
            add = getattr(module.writer, f"add_{item.kind}")
            add(item.name, item.value(), item.verbose_only)
    module.trace = None


@torch.no_grad()
def constrain(modules: Iterable[ExtendedTorchModule], loss: torch.Tensor) -> None:
    """Clamp bounded parameters of modules and run their post-step hooks."""
    for module in modules:
        for name, (low, high) in module.parameter_bounds().items():
            if (parameter := getattr(module, name)) is not None:
                parameter.clamp_(low, high)
        module.after_step(loss)


def extended_children(module: torch.nn.Module) -> Iterator[ExtendedTorchModule]:
    """Iterate over the nearest descendants of the base class, through plain torch containers."""
    for child in module.children():
        if isinstance(child, ExtendedTorchModule):
            yield child
        else:
            yield from extended_children(child)


Stackable = TypeVar("Stackable", bound=torch.nn.Module)


def overrides(module: ExtendedTorchModule, method: str) -> bool:
    return getattr(type(module), method) is not getattr(ExtendedTorchModule, method)


def stack_models(models: Sequence[Stackable]) -> Stackable:
    """Stack the parameters and buffers of all models in the first, and return it.

    A parameter with several names stays one parameter.
    """
    first = models[0]
    parts = [dict(model.named_modules()) for model in models]
    found: dict[torch.nn.Parameter, torch.nn.Parameter] = {}
    with torch.no_grad():
        for path, module in first.named_modules():
            own = module.named_parameters(recurse=False, remove_duplicate=False)
            for name, parameter in [*own]:
                if parameter not in found:
                    stacked = torch.stack([part[path].get_parameter(name) for part in parts])
                    needed = parameter.requires_grad
                    found[parameter] = torch.nn.Parameter(stacked, requires_grad=needed)
                setattr(module, name, found[parameter])
            for name, _ in [*module.named_buffers(recurse=False)]:
                setattr(module, name, torch.stack([part[path].get_buffer(name) for part in parts]))
    return first


def run_state(state: dict[str, torch.Tensor], run: int | None) -> dict[str, torch.Tensor]:
    """Cut the state dictionary of one run out of a stacked one (`None`: it is not stacked)."""
    return {
        name: (value if run is None else value[run]).detach().cpu().clone()
        for name, value in state.items()
    }
