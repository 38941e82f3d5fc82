"""The figures of the NALU paper, and of two articles about it."""

from __future__ import annotations

from stable_nalu.papers import NALU_ARTICLE

from ..entry import Entry
from ..kinds import Weights

ENTRIES = (
    Entry(
        "article-w-distribution",
        NALU_ARTICLE,
        "W distribution",
        "Weights of a NAC, drawn at random and at their start",
        (Weights(stem="{key}"),),
    ),
)
