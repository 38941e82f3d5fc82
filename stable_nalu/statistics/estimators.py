"""How means and intervals are made, and the flags that choose it.

Imports nothing that is slow.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Literal, get_args

GammaFit = Literal["published", "frozen", "profile"]
SparsityFit = Literal["compat", "scaled"]
RESAMPLES = 10_000

LEVEL = 0.05
"""The p value below which a test decides."""


@dataclass(frozen=True)
class Estimators:
    """How means and intervals are made; the defaults are those of the papers.

    gamma_fit, sparsity_fit: see `means.solved_at` and `means.mean_sparsity`.
    plain: whether to add the arithmetic mean and the median with bootstrap intervals, in columns
        `<measure>.plain.<mean or median>[.lower or .upper]`.
    resamples, seed: of the bootstrap.
    goodness_of_fit: whether to add p values of tests of the fitted densities, in the columns
        `<measure>.ks.p`.
    """

    gamma_fit: GammaFit = "published"
    sparsity_fit: SparsityFit = "compat"
    plain: bool = False
    resamples: int = RESAMPLES
    seed: int = 0
    goodness_of_fit: bool = False


PUBLISHED = Estimators()


def add_estimate_flags(parser: argparse._ActionsContainer) -> None:
    """Add the flags that choose how solved-at steps and sparsity errors are estimated."""
    parser.add_argument(
        "--gamma-fit",
        choices=get_args(GammaFit),
        default=PUBLISHED.gamma_fit,
        help="solved at: as the papers, with the sample variance, or by maximum likelihood",
    )
    parser.add_argument(
        "--sparsity-fit",
        choices=get_args(SparsityFit),
        default=PUBLISHED.sparsity_fit,
        help="compat, as the papers, halves all but tiny sparsity errors; scaled does not",
    )
