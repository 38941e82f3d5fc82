"""On real digits and pairs held out from training, an NMU lets a network find the digits.

The baseline puts in its place the MLP that the quotient task has: two hidden layers of 256. With as
much training it leaves the network with one answer for every digit.
"""

from dataclasses import asdict
from functools import partial

import pytest
import torch

from stable_nalu.network.digit_answer import quotient_mlp
from stable_nalu.network.two_digits import TwoDigitNetwork
from stable_nalu.options import SCRIPTS
from stable_nalu.training.epochs.pairs import ISOLATED, PairTask, pair_kind
from stable_nalu.training.plan.shell import train_plan
from stable_nalu.training.script import set_threads
from tests.experiments.scripts import read, run_names

COMMON = (
    "--operation mul --data-source digits --samples-per-permutation 20 --batch-size 16 "
    "--max-epochs 5 --log-interval 5 --no-save"
)
NMU = (
    "--use-nalm --learn-labels2out --regualizer 100 --regualizer-scaling-start 4 "
    "--regualizer-scaling-end 8 --id 1"
)
PLACE = ("--no-cuda", "--name-prefix", "t")
DIGITS = ("label1", "label2")


class WithMlp(PairTask):
    """The same task with an MLP as the last layer."""

    def network(self, config):
        torch.manual_seed(config.seed)
        return TwoDigitNetwork(partial(self.reader, config), quotient_mlp, range(10))


def last_metrics(task, words):
    """Metrics on held-out pairs at the last evaluation."""
    argv = f"{COMMON} {words}".split()
    spec = SCRIPTS["two_digit_mnist"]
    set_threads()
    assert train_plan(pair_kind(task), spec, spec.plan([*PLACE, *argv]).configs) == 0
    record = read(run_names("two_digit_mnist", *argv)[0])
    prefix = "metric/test/"
    return {
        tag.removeprefix(prefix): list(record.series(tag).values())[-1]
        for tag in record.tags
        if tag.startswith(prefix)
    }


@pytest.mark.slow
def test_an_nmu_finds_digits_that_an_mlp_does_not(monkeypatch):
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")
    nmu = last_metrics(ISOLATED, NMU)
    mlp = last_metrics(WithMlp(**asdict(ISOLATED)), "")
    assert nmu["output/mse"] < mlp["output/mse"] / 2
    for digit in DIGITS:
        assert nmu[f"{digit}/mse"] < mlp[f"{digit}/mse"] / 3
    read_right = [sum(m[f"{d}_rounded/acc"] for d in DIGITS) for m in (nmu, mlp)]
    assert read_right[0] > 2 * read_right[1]
