"""One fused kernel for a whole training iteration of many runs.

The iteration is recorded once from the very code that trains without compilation (forward, loss,
gradients, clipping, optimiser, clamping) and compiled by torch. It updates the same parameters and
optimiser state in place, so compiled and plain iterations can alternate freely.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.abstract.random_source import RandomSource
from stable_nalu.functional.product import tracing
from stable_nalu.ensemble import PerRunRandomSource
from stable_nalu.ensemble.noise import NoiseFeed, RecordingRandomSource, ReplayingRandomSource

from .step import StepResult, TrainingStep
from .unroll import CannotUnroll, unrolled
# Shapes never change between iterations, so the checks before every call have nothing to find.
OPTIONS = {"guard_filter_fn": lambda guards: [False] * len(guards)}


class CompiledStep:
    """Runs iterations of a stacked `TrainingStep` through compiled code.

    Recorded once per set of penalties in force and criterion. When torch cannot compile here (no
    C++ compiler, say) it warns once and runs the plain step.
    """

    def __init__(self, step: TrainingStep):
        self.step = step
        self._compiled: dict[object, Callable | None] = {}
        self._weights: Sequence | None = None
        self._weight_tensors: list[torch.Tensor] = []
        self._noise: NoiseFeed | None = None
        self._works = True

    @staticmethod
    def supports(model: ExtendedTorchModule) -> bool:
        """Whether training is a pure function of trainable parameters, inputs and noise.

        Other state (temperatures, running statistics, the iteration) would be frozen into the code.
        """
        return (
            all(parameter.requires_grad for parameter in model.parameters())
            and not list(model.buffers())
            and not any(module.reads_iteration for module in model.extended_modules())
        )

    def pause(self) -> None:
        """Before plain iterations or a checkpoint: generators stand where iterations left them."""
        if self._noise is not None:
            self._noise.rewind()

    def run(self, iteration: int, x: torch.Tensor, t: torch.Tensor) -> StepResult:
        """One whole iteration."""
        if not self._works:
            return self.step.run(iteration, x, t)
        criterion, weights = self.step.prepare(iteration)
        keys = tuple(key for key, _ in weights)
        variant = (criterion, keys)
        if weights is not self._weights:
            self._weights = weights
            self._weight_tensors = [self._tensor(w) for _, w in weights]
        if variant not in self._compiled:
            self._compiled[variant] = self._compile(criterion, keys, x, t)
        compiled = self._compiled[variant]
        if compiled is None:
            self._works = False
            return self._plain(criterion, weights, x, t)
        optimizer = self.step.optimizer
        optimizer.steps = [count + 1 for count in optimizer.steps]
        noise = () if self._noise is None else self._noise.next()
        x = self._laid_out(x)
        arguments = self._arguments(x, t, self._scalars(optimizer.steps[0]), noise)
        with torch.no_grad():
            error, penalty, total = compiled(*arguments)
        return StepResult(error, penalty if keys else None, total, ())

    def _laid_out(self, x: torch.Tensor) -> torch.Tensor:
        """x with the batch contiguous in memory, as unrolled code reads it."""
        return x.mT.contiguous().mT

    def _unrolled(self, recorded, examples):
        from torch.fx.experimental.proxy_tensor import make_fx

        x = examples[2][0]
        try:
            with torch.no_grad():
                examples = [[v.detach().clone() for v in group] for group in examples]
                return make_fx(unrolled(recorded, x.shape[0], x.shape[1]))(*examples)
        except CannotUnroll:
            return recorded

    def _plain(self, criterion, weights, x, t) -> StepResult:
        error, penalty, total = self.step.loss(x, t, criterion, weights)
        gradients = self.step.gradients(total)
        self.step.update(gradients, error)
        return StepResult(error, penalty, total, gradients)

    def _tensor(self, value) -> torch.Tensor:
        reference = self.step.parameters[0]
        return torch.as_tensor(value, dtype=reference.dtype, device=reference.device)

    def _scalars(self, count: int) -> list[torch.Tensor]:
        return [self._tensor(value) for value in self.step.optimizer.scalars(count)]

    def _arguments(self, x, t, scalars, noise) -> list[list[torch.Tensor]]:
        parameters = [p.detach() for p in self.step.parameters]
        slots = [s for name in self.step.optimizer.slots for s in self.step.optimizer.state[name]]
        return [parameters, slots, [x, t], self._weight_tensors, list(scalars), list(noise)]

    def _compile(self, criterion, keys, x, t) -> Callable | None:
        """Record and compile; None when that fails."""
        from torch.fx.experimental.proxy_tensor import make_fx

        noise = self._noise_example(criterion, x, t)
        arguments = self._arguments(x, t, self._scalars(1), noise)
        examples = [[value.clone() for value in group] for group in arguments]
        examples[0] = [p.requires_grad_() for p in examples[0]]
        recorded = make_fx(self._recordable(criterion, keys))(*examples)
        examples[2][0] = self._laid_out(examples[2][0])
        recorded = self._unrolled(recorded, examples)
        examples = [[value.detach() for value in group] for group in examples]
        try:
            compiled = torch.compile(recorded, options=OPTIONS)
            with torch.no_grad():
                compiled(*examples)
        except Exception as error:  # whatever keeps torch from compiling here, plain steps work
            reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            warnings.warn(f"training without compiled code: {reason}", stacklevel=2)
            return None
        return compiled

    def _noise_example(self, criterion, x, t) -> tuple[torch.Tensor, ...]:
        """What noise one iteration draws; sets up the feed that draws it ahead."""
        source = self._random_source()
        if source is None:
            return ()
        if self._noise is None:
            recorder = RecordingRandomSource(len(source.generators))
            with self._random(recorder), torch.no_grad():
                criterion(self.step.model(x), t)
            self.step.finish(torch.zeros(()))
            if not recorder.draws:
                return ()
            self._noise = NoiseFeed(source.generators, recorder.draws, x)
        return tuple(torch.zeros_like(value) for value in self._noise.example())

    def _random_source(self) -> PerRunRandomSource | None:
        source = self.step.model.random
        return source if isinstance(source, PerRunRandomSource) else None

    def _recordable(self, criterion, keys):
        step = self.step
        names = [name for name, p in step.model.named_parameters() if p.requires_grad]

        def iteration(parameters, slots, batch, weights, scalars, noise):
            count = len(parameters)
            with (
                torch.nn.utils.stateless._reparametrize_module(
                    step.model, dict(zip(names, parameters, strict=True))
                ),
                self._random(ReplayingRandomSource(noise)),
                tracing(),
            ):
                weighted = list(zip(keys, weights, strict=True))
                error, penalty, total = step.loss(*batch, criterion, weighted)
                gradients = step.gradients(total, parameters)
                with torch.no_grad():
                    for k, gradient in enumerate(gradients):
                        if gradient is not None:
                            own = [slots[k + i * count] for i in range(len(step.optimizer.slots))]
                            step.optimizer.apply(parameters[k], own, gradient, scalars)
                step.finish(error)
            return error, error if penalty is None else penalty, total

        return iteration

    def _random(self, source: RandomSource):
        return _replaced_random(self.step.model, source)


class _replaced_random:
    """All modules of a model draw from `source` while the context lasts."""

    def __init__(self, model: ExtendedTorchModule, source: RandomSource):
        self._modules = list(model.extended_modules())
        self._source = source

    def __enter__(self) -> None:
        self._before = [module.random for module in self._modules]
        for module in self._modules:
            module.random = self._source

    def __exit__(self, *exception) -> None:
        for module, before in zip(self._modules, self._before, strict=True):
            module.random = before
