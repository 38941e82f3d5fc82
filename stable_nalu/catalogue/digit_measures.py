"""What is kept of runs on images of digits: errors, and shares of right answers."""

from __future__ import annotations

from .experiment import Measure


def measures_of_lengths(*lengths: int) -> tuple[Measure, ...]:
    """Return the measures of runs on sequences, which are tested on several lengths."""
    return (
        Measure("metric.valid.mse", "validation error"),
        *(Measure(f"metric.test.extrapolation.{n}.mse", f"error, length {n}") for n in lengths),
        Measure("sparse.error.max", "sparsity error", optional=True),
    )


def measures_of_pairs(loss: str, answer: str = "output_rounded") -> tuple[Measure, ...]:
    """Return the measures of runs on pairs; shares are percentages.

    loss: how columns call the error. answer: how they call answers that are counted.
    """
    shares = {answer: "answers", "label1_rounded": "left digits", "label2_rounded": "right digits"}
    sets = ("test", "train")
    return (
        *(
            Measure(f"metric.{part}.{column}.acc", f"% of {label} right, {part}", lower=False)
            for part in sets
            for column, label in shares.items()
        ),
        *(Measure(f"metric.{part}.output.{loss}", f"error, {part}") for part in sets),
    )
