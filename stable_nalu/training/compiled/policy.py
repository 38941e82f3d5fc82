"""When more preparation pays: compiled code, larger stacks, another process.

Each constant was measured: below it the preparation costs more time than it saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stable_nalu.options import Config

if TYPE_CHECKING:
    import torch

STACKED_INPUTS = 4096
"""Runs in one stack, times their inputs: past that, more runs in a stack gain no speed."""

RUNS_OF_AN_ITERATION = 250
"""A stack's iteration costs as much as these runs more, before it is compiled, in calls."""

WORK_OF_A_PROCESS = 1_000_000
"""Iterations, summed over runs, below which another process costs more than it saves."""

WORK_WORTH_COMPILING = 6_000_000
"""Cost of a stack from which compiled code saves more than compiling costs: see `stack_work`."""

WIDEST_COMPILED = 32
"""Inputs up to which compiled code is faster: wider layers spend their time in matrix products."""

DRAWS_WORTH_COMPILING = 100_000_000
"""Input elements that NumPy draws in a third of a second; C++ for them takes a second, once."""

WEIGHTS_WORTH_COMPILING = 100_000_000
"""Updated weights, which in recurrent networks take some seconds: C++ saves a third of them, and is
compiled once, in two seconds."""

ELEMENTS_WORTH_COMPILING = 400_000_000
"""Input elements from which compiled evaluation saves more than taking it from torch's cache costs.

Compiling it takes longer, once, and serves all models of a figure that differ only in numbers.
"""

ROW_ELEMENTS_WORTH_COMPILING = 2_000_000_000
"""Inputs of all rows, times iterations and runs, from which compiled code for fixed rows saves more
than compiling costs: 20,000 iterations of one run on 10,000 rows of 10."""

FEWEST_ROWS = 200
"""Rows at which twenty runs take half as long in turn as in one stack that is not compiled."""


def stack_work(planned_runs: int, iterations: int) -> int:
    """Return the cost of a stack in iterations of one run.

    It counts all runs that the plan puts into the stack and all iterations, done or not, so that
    it is the same whenever the stack is resumed.
    """
    return (planned_runs + RUNS_OF_AN_ITERATION) * iterations


def is_worth_compiling(config: Config, planned_runs: int) -> bool:
    """Return whether the iterations of a stack should be compiled, if its model allows it."""
    return (
        stack_work(planned_runs, config.max_iterations + 1) >= WORK_WORTH_COMPILING
        and not config.no_compile
        and not config.verbose
    )


def draws_worth_compiling(config: Config, drawn: int) -> bool:
    """Return whether C++ should draw so many input elements."""
    allowed = not getattr(config, "no_compile", False)
    return allowed and drawn >= DRAWS_WORTH_COMPILING


def updates_worth_compiling(config: Config, weights: int, updates: int) -> bool:
    """Return whether C++ should take part in so many updates of so many weights."""
    allowed = not getattr(config, "no_compile", False)
    return allowed and weights * updates >= WEIGHTS_WORTH_COMPILING


def rows_worth_compiling(
    config: Config, planned_runs: int, iterations: int, x: torch.Tensor, t: torch.Tensor
) -> bool:
    """Return whether iterations on all rows x, t `(*runs, rows, width)` should be compiled.

    Like `stack_work`, it does not depend on how much is done already.
    """
    rows, inputs = x.shape[-2:]
    work = planned_runs * iterations * rows * inputs
    return (
        work >= ROW_ELEMENTS_WORTH_COMPILING
        and rows >= FEWEST_ROWS
        and not x.is_cuda
        and not config.no_compile
        and not config.verbose
    )
