"""A task whose runs the engine trains, many in a batch; in torch each run is alone."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.options import Config

from .recorder import TaggedValue
from .task import Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from stable_nalu.dataset.simple_function import SampleStream

    from .engine_model import CriterionPrograms
    from .engine_stack import EngineStack
    from .step import TrainingStep

Drawn = Callable[[Sequence[int], int], "tuple[np.ndarray, np.ndarray]"]
"""Makes the next samples of some runs: x `(iterations, runs, batch, in)` and t."""


class EngineTask(Task):
    """What the engine must know: networks, the shape of samples, and what draws them."""

    in_python: ClassVar[bool] = False
    """Whether samples are drawn by Python alone, as C++ must not or cannot."""
    pause: int | None = None
    """The engine stops after iterations that are multiples of it, as something may then be due."""
    engine: "EngineStack | None" = None
    """What trains the runs in place of torch, if it does."""

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        raise NotImplementedError

    @classmethod
    def shape(cls, config: Config) -> Shape:
        """Return what the engine must know of data and logs."""
        raise NotImplementedError

    def samples(self) -> "tuple[Sequence[SampleStream], Drawn]":
        """Return the streams of all runs, where C++ may draw them, and what draws in Python."""
        raise NotImplementedError

    def rate_factor(self, at: int) -> float:
        """Return what the learning rate is multiplied by in an iteration."""
        return 1.0

    def observed_at_end(self, step: "TrainingStep") -> list[TaggedValue]:
        """Return what is logged of the trained modules, if the last unit is no log point."""
        return []

    @classmethod
    def programs(cls, config: Config, layer_options: dict[str, Any]) -> "CriterionPrograms":
        """Return what the engine makes of a run, by criteria, or raise NotLoweredError."""
        from .engine_stack import programs_of

        build = partial(cls.network, layer_options=layer_options)
        return programs_of(config, build, cls.shape(config), dtype=torch.get_default_dtype())

    def lanes(self, step: Any, layer_options: dict[str, Any]) -> "EngineStack":
        """Return what trains the runs from now on."""
        from .engine_stack import EngineStack

        build = partial(self.network, layer_options=layer_options)
        self.engine = EngineStack(
            *(self.configs, step, build, self.shape(self.config), *self.samples()),
            in_python=self.in_python,
            rate=self.rate_factor,
        )
        return self.engine
