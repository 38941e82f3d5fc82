"""The figures of the NALU paper, and of two articles about it."""

from __future__ import annotations

from stable_nalu.catalogue.nalu import FIGURE_1
from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES, TRASK_2018

from ..entry import Entry
from ..kinds import Extrapolations, Losses, Weights
from ..source import Series

ENTRIES = (
    Entry(
        "nalu-fig1",
        TRASK_2018,
        "Figure 1",
        "The identity by a scalar autoencoder: error beyond the training range",
        (Extrapolations("{key}", "nalu/fig1"),),
        tuple(
            Series((f"nalu-fig1/{name.lower()}",), name)
            for name in (*FIGURE_1, "linear", "NAC", "NALU")
        ),
    ),
    Entry(
        "article-w-distribution",
        NALU_ARTICLE,
        "W distribution",
        "Weights of a NAC, drawn at random and at their start",
        (Weights(stem="{key}"),),
    ),
    Entry(
        "notes-addition",
        NALU_NOTES,
        "Notebook",
        "The sum of ten numbers by two NALUs: the loss of 100 seeds, and of the one shown",
        (
            Losses(
                "{key}",
                "notes/addition",
                "loss.train.mse",
                "loss.train.half-sum-squares",
                below=1e-3,
            ),
        ),
        (Series(("notes-addition/nalu",), "NALU"),),
    ),
)
