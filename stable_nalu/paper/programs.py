"""The programs of the NALU paper: sums, and programs of several operations."""

from __future__ import annotations

from stable_nalu.papers import TRASK_2018

from .experiment import Experiment, Measure, Resources, Setting, Shown

FIGURE_4 = ("LSTM", "UGRNN", "NAC", "NALU")
"""The models of both figures of programs."""

_RANGES = {"0-100": "2 digits", "100-1000": "3 digits", "1000-10000": "4 digits"}
_TESTS = {
    name: f"metric.test.{name}" if place else "metric.valid" for place, name in enumerate(_RANGES)
}


def _programs(kind: str, title: str, shown: str, note: str) -> Experiment:
    setting = Setting(
        "program_evaluation",
        f"--program {kind} --max-iterations 10000",
        range(3),
        Resources(60),
        prefix=f"nalu/fig4-{kind}/",
    )
    return Experiment(
        f"nalu/fig4-{kind}",
        title,
        (Shown(TRASK_2018, shown),),
        tuple(
            setting.model(
                name.lower(), name, f"--layer-type {name}", csv=f"nalu-fig4-{kind}/{name.lower()}"
            )
            for name in FIGURE_4
        ),
        parameter="layer.type",
        criterion="measured",
        measures=(
            *(
                Measure(f"{_TESTS[name]}.digits", f"digits right, {digits}", "mean", lower=False)
                for name, digits in reversed(_RANGES.items())
            ),
            *(
                Measure(f"{_TESTS[name]}.relative", f"relative error, {digits}")
                for name, digits in reversed(_RANGES.items())
            ),
            Measure("metric.trace.*", "answer *"),
        ),
        note=note,
        rate=200,
    )


_UNKNOWN = (
    "The paper does not say its sizes, rates and lengths; its differentiable neural computer is "
    "left out. Shares of digits are harsh: an error of one in the last place costs a digit or more."
)
PROGRAMS = (
    _programs(
        "addition",
        "Programs that add two numbers: digits that are right, also of larger numbers",
        "Programs, addition",
        f"{_UNKNOWN} That sums are in its supplement could not be checked.",
    ),
    _programs(
        "programs",
        "Programs of two operations, +, - or if: digits that are right, also of larger numbers",
        "Figure 4",
        _UNKNOWN,
    ),
)
