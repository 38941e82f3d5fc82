"""Tasks whose runs the engine trains on rows that Python makes, while torch measures them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu import abstract
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import simple_function
from stable_nalu.options import Config
from stable_nalu.training.task import Batch, Drawn, EngineTask, Shape


class MeasuredTask(EngineTask):
    """Python draws samples, and torch measures models, each alone, as it rounds by shapes."""

    in_python = True

    def lanes(self, step: Any, layer_options: dict[str, Any]) -> Any:
        self._alone = self.network(self.config, layer_options)
        return super().lanes(step, layer_options)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, Any]:
        if self.engine is None:
            return self.measured(model, 0)
        # Each draws what it draws alone.
        self.engine.store_model()
        every: dict[str, list[Any]] = {}
        source: Any = model.random
        with torch.random.fork_rng(devices=[]):
            for run, generator in enumerate(source.generators):
                self._alone.load_state_dict(abstract.run_state(model.state_dict(), run))
                torch.set_rng_state(generator.get_state())
                with self._alone.no_random():
                    for tag, value in self.measured(self._alone, run).items():
                        every.setdefault(tag, []).append(value)
                generator.set_state(torch.get_rng_state())
        return {
            tag: torch.stack(values) if isinstance(values[0], torch.Tensor) else values
            for tag, values in every.items()
        }

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        """Return numbers and texts of the model of one run by their tags."""
        raise NotImplementedError


class RowsTask(MeasuredTask):
    """Trains on all rows in every update, or on few that Python draws."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.data = list(map(self.rows_of, self.configs))
        self._laid: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def rows_of(self, config: Config) -> Batch:
        """Return the rows of a run, `(rows, in)` and `(rows, 1)`."""
        raise NotImplementedError

    @classmethod
    def count(cls, config: Config) -> int:
        """Return how many rows an update has."""
        raise NotImplementedError

    @classmethod
    def shape(cls, config: Config) -> Shape:
        rows, penalties = cls.count(config), cls.kind.penalties
        return Shape(rows, config.inputs, 1, None, config.verbose, penalties)

    def batches(self) -> Iterator[Batch]:
        return iter(self.data[:1])

    def samples(self) -> tuple[Sequence[simple_function.SampleStream], Drawn]:
        return (), self.given

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return samples of some runs: their rows, the same ones for all iterations."""
        key = tuple(runs)
        if key not in self._laid:
            self._laid[key] = self.laid([self.data[run] for run in runs])
        return self._laid[key]

    @staticmethod
    def laid(rows: Sequence[Batch]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of runs as the engine takes them."""
        x, t = (torch.stack(parts)[None].numpy() for parts in zip(*rows, strict=True))
        return x, t
