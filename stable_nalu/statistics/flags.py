"""Flags of the scripts that estimate means and intervals; imports nothing that is slow."""

import argparse


def add_estimate_flags(parser: argparse._ActionsContainer) -> None:
    """How solved-at steps and sparsity errors are estimated."""
    parser.add_argument(
        "--gamma-fit",
        choices=("published", "frozen", "profile"),
        default="published",
        help="solved at: as the papers, with the sample variance, or by maximum likelihood",
    )
    parser.add_argument(
        "--sparsity-fit",
        choices=("compat", "scaled"),
        default="compat",
        help="compat, as the papers, halves all but tiny sparsity errors; scaled does not",
    )
