"""Division by small numbers: residual errors against the published ones."""

import numpy as np
import pytest
import torch

from stable_nalu.paper.ranges import SMALL_DIVISOR_BOUNDS
from stable_nalu.statistics.small_divisors import (
    BOUNDS,
    MODULES,
    TASKS,
    residual,
    residuals,
)

PUBLISHED = {
    ("NRU", "hard"): (1.1921875398002157e-07, 1.1924171872124134e-07, 1.1923013687464845e-07,
                      1.192299947661013e-07, 1.192308474173842e-07),
    ("RealNPU", "hard"): (2531.3876953125, 401.33441162109375, 8.685083389282227,
                          0.09694124013185501, 0.0009814718505367637),
    ("NMRU", "hard"): (0.032729022204875946, 8.967731992015615e-05, 5.591543867922155e-07,
                       1.373559825879056e-07, 1.1922777787276573e-07),
    ("NRU", "easy"): (0.0008673844276927412, 4.256202737451531e-05, 3.63678140047341e-07,
                      1.2064751331308798e-07, 1.1925500587040005e-07),
    ("RealNPU", "easy"): (1152671285248.0, 2046348544.0, 490999.34375, 55.245338439941406,
                          0.005590015556663275),
    ("NMRU", "easy"): (0.003669189754873514, 4.197092493996024e-05, 3.635247196598357e-07,
                       1.20647612789071e-07, 1.1925460796646803e-07),
    ("NRU", "medium"): (0.0008080074330791831, 9.268072062695865e-06, 1.7597510293398955e-07,
                        1.2629826073862205e-07, 1.1924292664389213e-07),
    ("RealNPU", "medium"): (1310328487936.0, 3463408640.0, 1115022.125, 132.18569946289062,
                            0.013450529426336288),
    ("NMRU", "medium"): (0.002808001823723316, 9.268088433600497e-06, 1.7597520240997255e-07,
                         1.2629863022084464e-07, 1.1924294085474685e-07),
}  # fmt: skip
"""Residual error plus machine epsilon at the upper bounds 1e-4, 1e-3, 1e-2, 0.1 and 1."""


def named(module, task):
    modules, tasks = {m.label: m for m in MODULES}, {t.name: t for t in TASKS}
    return modules[module], tasks[task]


@pytest.mark.parametrize("key", PUBLISHED, ids="-".join)
def test_thresholds_agree_with_the_published_ones(key):
    found = [residual(*named(*key), bound).threshold for bound in SMALL_DIVISOR_BOUNDS]
    # Errors of the NRU are rounding alone, which differs where torch has no vector instructions.
    vectors = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    assert found == pytest.approx(PUBLISHED[key], rel=1e-4 if vectors else 0.02)


def test_without_its_epsilon_the_real_npu_only_rounds():
    """Rounding of exp and log: far below the error with epsilon, and not zero."""
    for task in ("easy", "medium", "hard"):
        with_epsilon = residual(*named("RealNPU", task), 1e-4).error
        without = residual(*named("RealNPU (eps=0)", task), 1e-4).error
        assert 0 < without < 1e-6 * with_epsilon


def test_all_combinations_in_the_published_order():
    found = list(residuals())
    assert len(found) == 108
    assert [r.module.label for r in found[::27]] == [m.label for m in MODULES]
    assert [r.task.name for r in found[:27:9]] == ["easy", "medium", "hard"]
    assert [r.bound for r in found[:9]] == list(BOUNDS)
    assert found[0].range_label == "U[0,1e-8)"
    assert found[8].range_label == "U[0,1e+0)"


def test_the_reciprocal_is_only_rounded_in_the_nmru():
    """1/a of a float32 a against the float32 of 1/a in float64: by hand, element by element."""
    x = np.random.RandomState(8689336).uniform(0, 0.1, size=(10_000, 1))[:, 0]
    squares = [float((np.float32(1) / np.float32(a) - np.float32(1 / a)) ** 2) for a in x]
    found = residual(*named("NMRU", "easy"), 0.1).error
    assert found == pytest.approx(np.mean(squares), rel=1e-4)
