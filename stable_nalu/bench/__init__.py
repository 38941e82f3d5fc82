"""The challenge and the board compare a layer with published ones; `fit` compares families.

The commands `reproduce` and `batch`, in which a layer competes with published ones, are here.
Comparisons are imported only when needed, because pandas and scipy take long to import.
"""

import argparse
from collections.abc import Sequence

from stable_nalu.paper.experiment import Experiment, Model
from stable_nalu.result import batch as shards
from stable_nalu.result import reproduce as results


def reproduce(argv: Sequence[str] | None = None) -> int:
    """Reproduce an experiment, or compare a layer with it, and return the exit code."""
    return results.main(argv, _challenge)


def batch(argv: Sequence[str] | None = None) -> int:
    """Train an experiment, or a layer on its points, in shards, and return the exit code."""
    return shards.main(argv, _model)


def _challenge(arguments: argparse.Namespace) -> int:
    from .challenge import challenge

    return challenge(arguments)


def _model(arguments: argparse.Namespace, experiment: Experiment) -> Model:
    from .ranking import challenger_of

    return challenger_of(arguments, [experiment]).model(experiment)
