"""Numbers of the published generators, to the nine digits that identify a float32."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset

VALIDATION_SEED = 43953907
TEST_SEED = 8689336
EXAMPLES = json.loads((Path(__file__).parent / "worked_examples.json").read_text())

DEFAULTS = {}
IN2 = {"input_size": 2, "subset_ratio": 0.5, "overlap_ratio": 0}
IN10 = {"input_size": 10, "subset_ratio": 0.1, "overlap_ratio": 0}
IN1 = {"input_size": 1, "subset_ratio": 1, "overlap_ratio": 0, "num_subsets": 1}


@dataclass
class Case:
    """A dataset, its two ranges, the input columns that are listed, and expected facts."""

    operation: str
    seed: int
    sizes: dict
    train_range: list
    test_range: list
    columns: list
    subsets: list
    child: int
    dist_params: tuple = ("uniform",)
    forks: dict = field(default_factory=dict)

    def streams(self):
        """First and second training batch, validation and test, as (stream, batch size)."""
        dataset = SimpleFunctionStaticDataset(
            self.operation, **self.sizes, seed=self.seed, dist_params=self.dist_params
        )
        assert dataset.subset_ranges == self.subsets
        train = dataset.fork(self.train_range)
        assert train.seed == self.child
        valid = dataset.fork(self.train_range, seed=VALIDATION_SEED)
        test = dataset.fork(self.test_range, seed=TEST_SEED, **self.forks)
        return {
            "train1": train[0:128],
            "train2": train[128:256],
            "valid": valid[0:10000],
            "test": test[0:10000],
        }


TWO = [(0, 1), (1, 2)]
MIRRORED = [[-6, -2], [2, 6]]
NORMAL = ("truncated-normal", -1.0, 3.0, -10.0, 3.0)
WIDE = [[-100, -50], [50, 100]]
HALVES = [[-2, -0.1], [0.1, 2], []]
CASES = {
    "A": Case(
        "add", 0, DEFAULTS, [1, 2], [2, 6], [0, 1, 2], [(44, 69), (57, 82)], 2546248239
    ),
    "B": Case(
        "mul", 1, DEFAULTS, [-2, 2], MIRRORED, [0, 1, 2], [(37, 62), (50, 75)], 4282876139
    ),
    "C": Case("mul", 0, IN2, [-2, 2], MIRRORED, [0, 1], TWO, 2357136044),
    "D": Case("div", 2, IN2, HALVES, [*MIRRORED, []], [0, 1], TWO, 1872583848),
    "E": Case(
        "div", 3, IN10, [-5, 10], [-15, -5], [0, 8, 9], [(8, 9), (9, 10)], 3041471737,
        dist_params=NORMAL, forks={"use_extrapolation": True},
    ),
    "F": Case(
        "div", 0, IN2, [10, 100], [100, 1000], [0, 1], TWO, 2357136044, dist_params=("benford",)
    ),
    "G": Case(
        "sub", 4, IN2, [1, 2], [2, 6], [0, 1], TWO, 4153361530, dist_params=("exponential", 0.5)
    ),
    "H": Case("reciprocal", 5, IN1, [0, 1e-4], [0, 1e-4], [0], [(0, 1)], 953453411),
    "I": Case("sub", 7, IN10, [-50, 50], WIDE, [0, 4, 5], [(4, 5), (5, 6)], 3349725721),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows_and_sums(name):
    case, expected = CASES[name], EXAMPLES[name]
    # The inverse of the normal distribution function differs between scipy versions.
    tolerance = {"rtol": 1e-6 if name == "E" else 0, "atol": 0}
    for key, (x, t) in case.streams().items():
        assert x.dtype == t.dtype == torch.float32
        rows = np.array(expected["rows"][key], dtype=np.float32)
        listed = torch.cat((x[:, case.columns], t), 1)[: len(rows)].numpy()
        np.testing.assert_allclose(listed, rows, **tolerance)
        sums = [x.double().sum().item(), t.double().sum().item()]
        np.testing.assert_allclose(sums, expected["sums"][key], rtol=1e-6 if name == "E" else 6e-9)


def test_simple_task():
    dataset = SimpleFunctionStaticDataset("mul", 100, simple=True, seed=0)
    stream = dataset.fork([1, 2])
    assert (dataset.get_input_size(), dataset.subset_ranges) == (4, [(0, 4), (0, 2)])
    assert stream.seed == 2357136044
    x, t = stream[0:2]
    rows = [
        [1.79416001, 1.15982461, 1.39078724, 1.93648517],
        [1.65650725, 1.55914998, 1.69575465, 1.11133242],
    ]
    assert torch.equal(x, torch.tensor(rows))
    assert torch.equal(t, torch.tensor([[18.5547371], [19.3670807]]))


@pytest.fixture
def double_precision():
    """Float64 as torch's default dtype, for one test."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def test_double_precision(double_precision):
    batches = CASES["C"].streams()
    x, t = batches["train1"]
    assert x.dtype == t.dtype == torch.float64
    assert x[:2].tolist() == [
        [1.1766398514001901, -1.3607015034231646],
        [-0.43685093959170995, 1.7459406105936028],
    ]
    assert t[:2].tolist() == [[-1.6010556147878476], [-0.7627157962091392]]
    x, t = batches["test"]
    assert x[0].tolist() == [-3.8669543210126047, -4.7357949308411085]
    assert t[0].tolist() == [18.313102671245613]


def test_inputs_do_not_depend_on_the_seed_of_the_dataset():
    first, second = (
        SimpleFunctionStaticDataset("add", 10, subset_ratio=0.1, overlap_ratio=0, seed=seed)
        for seed in (0, 11)
    )
    x0, t0 = first.fork([1, 2], seed=VALIDATION_SEED)[0:100]
    x1, t1 = second.fork([1, 2], seed=VALIDATION_SEED)[0:100]
    assert torch.equal(x0, x1)
    assert not torch.equal(t0, t1)
