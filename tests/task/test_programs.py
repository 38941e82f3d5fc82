"""Program evaluation: digits, names, refusals, what is logged, resumed and learned."""

import numpy as np
import pytest
import torch

from stable_nalu.task.program_evaluation import right_digits, root_mean_square
from tests.experiments.scripts import exported, read, run, run_names

SCRIPT = "program_evaluation"
SMALL = ("--batch-size", "8", "--hidden-size", "8", "--workers", "1", "--log-interval", "8")


@pytest.mark.parametrize(
    ("y", "t", "wanted"),
    [
        (123.4, 123, 1),
        (122.6, 123, 1),
        (124, 123, 2 / 3),
        (23, 123, 2 / 3),
        (1123, 123, 3 / 4),
        (-5, 5, 1 / 2),
        (-12, -13, 2 / 3),
        (-7, -17, 1 / 3),
        (0.2, 0, 1),
        (-0.4, 0, 1),
        (float("inf"), 7, 0),
        (float("nan"), 7, 0),
        (1e30, 7, 0),
    ],
)
def test_digits_by_hand(y, t, wanted):
    assert right_digits(torch.tensor([y]), torch.tensor([t])).tolist() == pytest.approx([wanted])


def test_the_loss_has_a_gradient_where_all_is_right():
    error = torch.zeros(2, 5, requires_grad=True)
    root_mean_square(error).sum().backward()
    assert error.grad is not None
    assert error.grad.eq(0).all()
    assert root_mean_square(torch.tensor([3.0, 4.0])).item() == pytest.approx(12.5**0.5)


def test_what_is_exported():
    words = (*SMALL, "--program", "programs", "--layer-type", "NALU", "--max-iterations", "9")
    assert run(SCRIPT, *words, "--seed", "0-1") == 0
    for name in run_names(SCRIPT, *words, "--seed", "0-1"):
        log = read(name)
        relative = [log.series(f"metric/test/{r}/relative")[9] for r in ("100-1000", "1000-10000")]
        assert log.series("metric/test/relative")[9] == pytest.approx(np.mean(relative))
        assert 0 <= log.series("metric/valid/digits")[9] <= 1
    table = exported()
    assert set(table["program"]) == {"programs"}
    assert {"metric.test.1000-10000.digits", "metric.trace.0-100.0"} <= set(table)
