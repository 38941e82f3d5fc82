"""What an arithmetic script says of its task; each is in a file of `stable_nalu.task`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from stable_nalu.abstract import ExtendedTorchModule
    from stable_nalu.dataset import SampleStream, SimpleFunctionStaticDataset
    from stable_nalu.dataset.exceeding import ExceedingStream
    from stable_nalu.options import Config

    from .data import Data, Feed


class OperationTask:
    """A model, its data and what is logged; of its data sets, one per run, all streams are forks.

    evaluates: whether errors of validation and test are measured at log points.
    evaluates_in_eval_mode: whether the model is in evaluation mode then.
    robustness_logging: whether layers log the path of their weights.
    beta_tag_verbose_only: whether the growing factor of penalties is logged with --verbose alone.
    beta_only_grows: whether that factor never falls.
    penalizes_inalu: whether iNALU's penalty begins when its rule says so.
    console_interval: iterations between two lines of the console; None: with each log point.
    reports_success: whether the last line of a run says that it was solved.
    prints_weights_always: whether the console shows weights of large layers, too.
    """

    evaluates = True
    evaluates_in_eval_mode = True
    robustness_logging = False
    beta_tag_verbose_only = False
    beta_only_grows = False
    penalizes_inalu = False
    console_interval: int | None = None
    reports_success = False
    prints_weights_always = False

    def build(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of a configuration."""
        raise NotImplementedError

    def data(self, configs: Sequence[Config], device: torch.device) -> Data:
        """Fork, per run and in this order: training, validation and test streams."""
        from . import data as sets

        datasets = [sets.build_dataset(config) for config in configs]
        feed = self.feed(datasets, configs)
        evaluation: list[sets.EvaluationSet] = []
        if self.evaluates:
            pairs = list(zip(datasets, configs, strict=True))
            validation = [
                d.fork(c.interpolation_range, seed=sets.VALIDATION_SEED) for d, c in pairs
            ]
            test = [self.test_stream(d, c) for d, c in pairs]
            evaluation = [
                sets.EvaluationSet(streams, device=device) for streams in (validation, test)
            ]
        return sets.Data(datasets, feed, evaluation)

    def feed(
        self, datasets: Sequence[SimpleFunctionStaticDataset], configs: Sequence[Config]
    ) -> Feed:
        """Return the training batches of all runs."""
        from .data import Feed

        pairs = zip(datasets, configs, strict=True)
        streams = [dataset.fork(c.interpolation_range) for dataset, c in pairs]
        return Feed(streams, configs[0].batch_size, datasets[0].get_input_size())

    def test_stream(
        self, dataset: SimpleFunctionStaticDataset, config: Config
    ) -> SampleStream | ExceedingStream:
        """Return the inputs that extrapolation is measured on."""
        from .data import TEST_SEED

        return dataset.fork(config.extrapolation_range, seed=TEST_SEED)
