"""What is kept of runs on images of digits: errors, and shares of right answers."""

from __future__ import annotations

from .experiment import Measure

_SEQUENCE_EPOCHS = (*range(0, 100, 5), *range(100, 1001, 50))
_PAIR_EPOCHS = (*range(10), *range(10, 50, 5), *range(50, 1001, 50))
"""Epochs whose errors and shares are kept for curves: every one of few, some of many."""


def measures_of_lengths(*lengths: int) -> tuple[Measure, ...]:
    """Return the measures of runs on sequences, which are tested on several lengths.

    lengths: those that tables show; the errors at all others are kept for figures.
    """
    shown = (
        ("metric.valid.mse", "validation error"),
        *((f"metric.test.extrapolation.{n}.mse", f"error, length {n}") for n in lengths),
    )
    return (
        *(Measure(column, label, steps=_SEQUENCE_EPOCHS) for column, label in shown),
        Measure("sparse.error.max", "sparsity error", steps=_SEQUENCE_EPOCHS, optional=True),
        Measure("metric.test.extrapolation.*", "error at other lengths: *"),
    )


def measures_of_pairs(loss: str, answer: str = "output_rounded") -> tuple[Measure, ...]:
    """Return the measures of runs on pairs; shares are percentages.

    loss: how columns call the error. answer: how they call answers that are counted.
    """
    shares = {answer: "answers", "label1_rounded": "left digits", "label2_rounded": "right digits"}
    sets = ("test", "train")
    return (
        *(
            Measure(
                f"metric.{part}.{column}.acc",
                f"% of {label} right, {part}",
                steps=_PAIR_EPOCHS,
                lower=False,
            )
            for part in sets
            for column, label in shares.items()
        ),
        *(
            Measure(f"metric.{part}.output.{loss}", f"error, {part}", steps=_PAIR_EPOCHS)
            for part in sets
        ),
        *(
            Measure(f"metric.{part}.*", f"other measures, {part}: *", steps=_PAIR_EPOCHS)
            for part in sets
        ),
    )
