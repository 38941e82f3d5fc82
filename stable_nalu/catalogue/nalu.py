"""The experiments of the NALU paper, and of two articles about it."""

from __future__ import annotations

from stable_nalu.papers import NALU_ARTICLE

from .experiment import Experiment, Shown

_WEIGHTS = Experiment(
    "article/w-distribution",
    "Weights of a NAC, drawn at random and at their start",
    (Shown(NALU_ARTICLE, "W distribution"),),
    (),
    note="Needs no training.",
)

EXPERIMENTS = (_WEIGHTS,)
