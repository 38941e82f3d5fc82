"""A training iteration of many runs as one fused kernel.

Forward pass, loss, gradients and clipping are recorded once from the code that trains without
compilation, and compiled by torch. The optimiser's update is not compiled, so that compiled and
plain iterations can alternate freely.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.abstract.random_source import RandomSource
from stable_nalu.ensemble import PerRunRandomSource
from stable_nalu.ensemble.random import NoiseFeed, RecordingRandomSource, ReplayingRandomSource
from stable_nalu.errors import in_words
from stable_nalu.functional.log_space import logarithm, logarithms_taken, shared_by_models

from ..step import StepResult, TrainingStep
from .compiler import Compiler, Graph, batch_contiguous, compiled_by_torch
from .recorded_products import RecordedProducts
from .unroll import UnrollingError, unrolled
from .unroll.wide import WIDEST_CELLS

LayOut = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """The code for one criterion and set of penalties, and which parameters it updates.

    `lay_out` gives the inputs the layout that the code reads, which also takes their `logarithms`,
    given by eps. With `counts_zeros` the code also
    returns how many products are zero, because its gradients hold only where none is.
    """

    run: Graph
    updated: tuple[int, ...]
    counts_zeros: bool
    lay_out: LayOut
    logarithms: Sequence[float]


class CompiledStep:
    """A stacked `TrainingStep` whose iterations run through compiled code.

    An iteration is recorded once per criterion and set of penalties in force, and `compiler` makes
    fast code of it. Where that fails, as without a C++ compiler, it warns once and runs the plain
    step.
    """

    def __init__(self, step: TrainingStep, compiler: Compiler = compiled_by_torch):
        self.step = step
        self._compiler = compiler
        self._variants: dict[object, Variant] = {}
        self._weights: Sequence | None = None
        self._weight_tensors: list[torch.Tensor] = []
        self._noise: NoiseFeed | None = None
        self._works = True
        # They share memory with the parameters, whose values are only ever changed in place.
        self._parameters = [p.detach() for p in step.parameters]

    @staticmethod
    def supports(model: ExtendedTorchModule) -> bool:
        """Return whether training is a pure function of trainable parameters, inputs and noise.

        Other state (temperatures, running statistics, the iteration) would be frozen into the code.
        """
        return (
            all(parameter.requires_grad for parameter in model.parameters())
            and not list(model.buffers())
            and not any(module.reads_iteration for module in model.extended_modules())
        )

    def pause(self) -> None:
        """Put generators where iterations left them, before plain iterations or a checkpoint."""
        if self._noise is not None:
            self._noise.rewind()

    def run(self, iteration: int, x: torch.Tensor, t: torch.Tensor) -> StepResult:
        """Run one whole iteration."""
        if not self._works:
            return self.step.run(iteration, x.contiguous(), t)
        criterion, weights = self.step.prepare(iteration)
        keys = tuple(key for key, _ in weights)
        if weights is not self._weights:
            self._weights = weights
            self._weight_tensors = [self._tensor(w) for _, w in weights]
        variant = self._variants.get((criterion, keys)) or self._prepared(criterion, keys, x, t)
        if variant is None:
            self.pause()
            return self.step.run_prepared((criterion, weights), x.contiguous(), t)
        noise = () if self._noise is None else self._noise.next()
        with torch.no_grad():
            batch = variant.lay_out(x), t, *(logarithm(x, eps) for eps in variant.logarithms)
            results = variant.run(*self._arguments(batch, noise))
        error, penalty, total, *present = results
        if variant.counts_zeros and present.pop().numpy(force=True).any():
            with drawing_from(self.step.model, ReplayingRandomSource(noise)):
                return self.step.run_prepared((criterion, weights), x.contiguous(), t)
        gradients: list[torch.Tensor | None] = [None] * len(self.step.parameters)
        for k, gradient in zip(variant.updated, present, strict=True):
            gradients[k] = gradient
        self.step.update(gradients, error)
        return StepResult(error, penalty if keys else None, total, gradients)

    def _tensor(self, value) -> torch.Tensor:
        reference = self.step.parameters[0]
        return torch.as_tensor(value, dtype=reference.dtype, device=reference.device)

    def _arguments(self, batch, noise) -> list[list[torch.Tensor]]:
        return [self._parameters, [*batch], self._weight_tensors, list(noise)]

    def _prepared(self, criterion, keys, x, t) -> Variant | None:
        """Record and compile an iteration; return None when that fails."""
        try:
            variant = self._recorded(criterion, keys, x, t)
        except Exception as error:  # whatever keeps torch from compiling here, plain steps work
            if not isinstance(error, UnrollingError):
                warnings.warn(f"training without compiled code: {in_words(error)}", stacklevel=2)
            self._works = False
            # A recording that broke off leaves its traces in the layers.
            self.step.finish(torch.zeros(()))
            return None
        self._variants[criterion, keys] = variant
        return variant

    def _recorded(self, criterion, keys, x, t) -> Variant:
        from torch.fx.experimental.proxy_tensor import make_fx

        noise = self._noise_example(criterion, x, t)
        # Recorded as plain training runs: a layout decides on the order of sums.
        x = x.contiguous()
        logarithms = self._logarithms(x, noise) if x.shape[-1] > WIDEST_CELLS else {}
        arguments = self._arguments((x, t, *logarithms.values()), noise)
        examples = [[value.clone() for value in group] for group in arguments]
        examples[0] = [p.requires_grad_() for p in examples[0]]
        updated: list[int] = []
        zero_counts: list[torch.Tensor] = []
        iteration = self._recordable(criterion, keys, [*logarithms], updated, zero_counts)
        graph = make_fx(iteration)(*examples)
        examples = [[value.detach() for value in group] for group in examples]
        fast, lay_out = self._unrolled(graph, examples)
        examples[1][0] = lay_out(examples[1][0])
        compiled = self._compiler(fast)
        with torch.no_grad():
            compiled(*examples)
        # Recording leaves traced inputs in the layers that keep them for a penalty.
        self.step.finish(torch.zeros(()))
        return Variant(compiled, tuple(updated), bool(zero_counts), lay_out, tuple(logarithms))

    def _logarithms(self, x, noise) -> Mapping[float, torch.Tensor]:
        """Return the logarithms of many inputs that the model takes; other models may take them."""
        shared = shared_by_models(x.detach())
        with drawing_from(self.step.model, ReplayingRandomSource(noise)), torch.no_grad():
            self.step.model(shared)
        self.step.finish(torch.zeros(()))
        return logarithms_taken(shared)

    def _unrolled(
        self, graph: torch.fx.GraphModule, examples
    ) -> tuple[torch.fx.GraphModule, LayOut]:
        """Return the graph over (run, sample), and the layout of inputs that suits it."""
        from torch.fx.experimental.proxy_tensor import make_fx

        x = examples[1][0]
        wide = x.shape[-1] > WIDEST_CELLS
        lay_out = torch.Tensor.contiguous if wide else batch_contiguous
        try:
            with torch.no_grad():
                copies = [[value.clone() for value in group] for group in examples]
                copies[1][0] = lay_out(copies[1][0])
                return make_fx(unrolled(graph, x.shape[0], x.shape[1]))(*copies), lay_out
        except UnrollingError:
            if wide or x.shape[0] == 1:
                # Plain iterations are as fast as what torch makes of wide inputs, and those of a
                # single run keep its last bits.
                raise
            # Sums that are left to the compiler keep closest to plain ones in the plain layout.
            return graph, torch.Tensor.contiguous

    def _noise_example(self, criterion, x, t) -> tuple[torch.Tensor, ...]:
        """Return what noise one iteration draws, and set up the feed that draws it ahead."""
        source = self._random_source()
        if source is None:
            return ()
        if self._noise is None:
            recorder = RecordingRandomSource(len(source.generators))
            with drawing_from(self.step.model, recorder), torch.no_grad():
                criterion(self.step.model(x), t)
            self.step.finish(torch.zeros(()))
            if not recorder.draws:
                return ()
            self._noise = NoiseFeed(source.generators, recorder.draws, x)
        return tuple(torch.zeros_like(value) for value in self._noise.example())

    def _random_source(self) -> PerRunRandomSource | None:
        source = self.step.model.random
        return source if isinstance(source, PerRunRandomSource) else None

    def _recordable(
        self, criterion, keys, epsilons, updated: list[int], zero_counts: list[torch.Tensor]
    ):
        """Return one iteration as a function of everything it reads.

        When it is called, it notes which parameters it updates and how many products are zero.
        """
        step = self.step
        names = [name for name, p in step.model.named_parameters() if p.requires_grad]

        def iteration(parameters, batch, weights, noise):
            with (
                torch.nn.utils.stateless._reparametrize_module(
                    step.model, dict(zip(names, parameters, strict=True))
                ),
                drawing_from(self.step.model, ReplayingRandomSource(noise)),
                RecordedProducts() as products,
            ):
                weighted = list(zip(keys, weights, strict=True))
                x, t, *logarithms = batch
                if epsilons:
                    shared_by_models(x, dict(zip(epsilons, logarithms, strict=True)))
                error, penalty, total = step.loss(x, t, criterion, weighted)
                gradients = step.gradients(total, parameters)
            updated[:] = [k for k, gradient in enumerate(gradients) if gradient is not None]
            counts = zero_counts[:] = products.zero_counts
            return (
                error,
                error if penalty is None else penalty,
                total,
                *(gradients[k] for k in updated),
                *([sum(counts)] if counts else []),
            )

        return iteration


@contextmanager
def drawing_from(model: ExtendedTorchModule, source: RandomSource) -> Iterator[None]:
    """Let all modules of a model draw from `source` while this lasts."""
    modules = list(model.extended_modules())
    before = [module.random for module in modules]
    for module in modules:
        module.random = source
    try:
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.random = own
