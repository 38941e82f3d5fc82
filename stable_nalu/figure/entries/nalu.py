"""The figures of the NALU paper, and of two articles about it."""

from __future__ import annotations

from collections.abc import Mapping

from stable_nalu.paper.nalu import (
    FIGURE_1,
    FIGURE_5,
    MYSTERY,
    RECURRENT_UNITS,
    STATIC_UNITS,
    TABLE_2,
    TABLE_3,
    TABLE_4,
)
from stable_nalu.paper.programs import FIGURE_4
from stable_nalu.papers import NALU_ARTICLE, NALU_NOTES, TRASK_2018

from ..entry import Entry
from ..kinds import Arrivals, Episodes, Extrapolations, Learning, Losses, Scores, Weights
from ..nalu import (
    DigitBars,
    Heads,
    Lengths,
    ProgramTraces,
    ReadingErrors,
    RunningCounts,
    Traces,
)
from ..source import Series


def _keys(models: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the key of each label."""
    return {label: key for key, (label, _) in models.items()}


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
    *(
        Entry(
            f"nalu-table1-{half}",
            TRASK_2018,
            f"Table 1, {half}",
            shows,
            (Scores("{key}"),),
            tuple(Series((f"nalu-table1-{half}/{key}",), label) for key, label in units.items()),
        )
        for half, units, shows in (
            ("static", STATIC_UNITS, "Six operations on sums over a vector: scores of four units"),
            (
                "recurrent",
                RECURRENT_UNITS,
                "Six operations on sums over time: scores of four units",
            ),
        )
    ),
    *(
        Entry(
            f"nalu-fig4-{kind}",
            TRASK_2018,
            number,
            shows,
            (DigitBars("{key}"), ProgramTraces("{key}_program")),
            tuple(Series((f"nalu-fig4-{kind}/{name.lower()}",), name) for name in FIGURE_4),
        )
        for kind, number, shows in (
            (
                "addition",
                "Programs, addition",
                "Programs that add two numbers: digits that are right, also of larger numbers",
            ),
            (
                "programs",
                "Figure 4",
                "Programs of two operations: digits that are right, also of larger numbers",
            ),
        )
    ),
    *(
        Entry(
            f"nalu-table2-{task}",
            TRASK_2018,
            f"Table 2, {task}",
            f"{shows}: the error of six cells against its length",
            (
                Lengths("{key}"),
                *more,
            ),
            tuple(
                Series((f"nalu-table2-{task}/{key}",), label) for key, (label, _) in TABLE_2.items()
            ),
        )
        for task, shows, more in (
            (
                "count",
                "Counting the digits of a sequence",
                (RunningCounts("{key}_digits", ("NAC", "LSTM")),),
            ),
            ("sum", "Adding the digits of a sequence up", ()),
        )
    ),
    Entry(
        "nalu-table3",
        TRASK_2018,
        "Table 3",
        "Numbers in words: errors of an LSTM with three heads, and its answers word by word",
        (
            ReadingErrors("{key}"),
            Traces("{key}_trace"),
        ),
        tuple(Series((f"nalu-table3/{key}",), label) for key, (label, _) in TABLE_3.items()),
    ),
    Entry(
        "nalu-fig5",
        TRASK_2018,
        "Figure 5",
        "Tracking time in a grid world: reward and arrival against the step asked for",
        (Arrivals("{key}", marks=(13, 19)), Episodes("{key}_episode", 16)),
        tuple(Series((f"nalu-fig5/{key}",), label) for key, (label, _) in FIGURE_5.items()),
    ),
    Entry(
        "nalu-table4",
        TRASK_2018,
        "Table 4",
        "Even digits of a picture, counted by one network with eight last layers: errors",
        (Heads("{key}"),),
        tuple(Series((f"nalu-table4/{key}",), label) for key, (label, _) in TABLE_4.items()),
    ),
    Entry(
        "article-mystery",
        NALU_ARTICLE,
        "Performance evaluation",
        "The mystery arithmetic problem: errors over the epochs, and by operation",
        (
            Learning(
                "{key}",
                (("metric.train.mse", "Training rows"), ("metric.test.mse", "Test rows")),
                (
                    ("metric.test.mse.add", "sums"),
                    ("metric.test.mse.sub", "differences"),
                    ("metric.test.mse.mul", "products"),
                ),
                "By operation",
            ),
        ),
        tuple(Series((f"article-mystery/{model.key}",), model.label) for model in MYSTERY.models),
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
