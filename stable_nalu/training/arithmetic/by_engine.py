"""What the engine must know of an arithmetic task, and what it makes of a configuration."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.engine.lanes import not_compiled
from stable_nalu.engine.stack import CriterionPrograms, Shape, programs_of
from stable_nalu.engine.values import NotLoweredError
from stable_nalu.options import Config

from ..loss import INALU_START
from .curriculum import CurriculumFeed
from .data import build_dataset
from .task import OperationTask


def shape_of(task: OperationTask, config: Config) -> Shape:
    """Return what the engine must know of a configuration's data and logs."""
    return Shape(
        batch=config.batch_size,
        inputs=build_dataset(config).get_input_size(),
        outputs=1,
        eval_mode=task.evaluates_in_eval_mode if task.evaluates else None,
        verbose=config.verbose,
        robust=task.robustness_logging,
    )


def _programs(
    config: Config, layer_options: dict[str, Any], task: OperationTask
) -> CriterionPrograms:
    return programs_of(
        config,
        lambda one: task.build(one, layer_options),
        shape_of(task, config),
        beta_only_grows=task.beta_only_grows,
        dtype=torch.get_default_dtype(),
    )


def texts(config: Config, layer_options: dict[str, Any], task: OperationTask) -> list[str]:
    """Return the C++ of a configuration, for each criterion that it trains by."""
    return [program.text for program in _programs(config, layer_options, task).values()]


def reason_for_torch(
    config: Config, layer_options: dict[str, Any], task: OperationTask
) -> str | None:
    """Return why a configuration cannot be trained by the engine, if it cannot."""
    try:
        programs = _programs(config, layer_options, task)
    except NotLoweredError as error:
        return str(error)
    return next(filter(None, map(not_compiled, programs.values())), None)


def quiet(training: Any, iteration: int) -> int:
    """Return how many iterations there are until something must be looked at."""
    config, restarts = training.config, training.restarts
    if config.verbose or iteration % training.log_interval == 0:
        return 0
    if isinstance(training.data.feed, CurriculumFeed):
        return 1
    multiples = [training.log_interval, config.checkpoint_interval]
    ends = [training.length, *(iteration - iteration % n + n for n in multiples if n)]
    # Decisions follow these iterations.
    after = [training.task.console_interval, restarts and restarts.interval]
    ends += [iteration + (-iteration) % n + 1 for n in after if n]
    # And these are the first of their kind.
    changes = [INALU_START + 1, getattr(config, "pcc2mse_iteration", 0)]
    ends += [change for change in changes if change > iteration]
    return min(ends) - iteration
