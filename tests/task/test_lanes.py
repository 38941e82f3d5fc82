"""Tasks on rows of their own: the engine trains what torch does, and a run as if it were alone."""

import pytest

from tests.experiments.scripts import read, run, run_names

RUNS = (
    "eml_recovery --depth 2 --target chain --layer-option tree=bottom init=random_hot",
    "comparison --relation ne",
    "comparison --layer-type HardSoftmaxNAC --hidden-size 3",
    "identity_autoencoder --layer-type Tanh --train-sampling uniform --batch-size 16",
    "identity_autoencoder --layer-type NAU --hidden-size 50",
    "notebook_addition --train-size 200",
)
LENGTH = ("--max-iterations", "30", "--log-interval", "10", "--pytorch-precision", "64")


@pytest.mark.parametrize("command", RUNS)
def test_the_engine_trains_what_torch_does_each_run_alone(command):
    script, *words = [*command.split(), *LENGTH]
    logs = {}
    for seeds, how in (("0-6", "lanes"), ("3", "lanes"), ("3", "torch")):
        own = [*words, "--seed", seeds, "--engine", how, "--name-prefix", f"{how}{seeds}"]
        assert run(script, *own) == 0
        log = read(run_names(script, *own)[3 if seeds == "0-6" else 0])
        told = ("loss", "metric", "error")
        logs[seeds, how] = {k: v for k, v in log.values.items() if k[1].startswith(told)}
    assert logs["0-6", "lanes"] == logs["3", "lanes"]
    lanes, torch = logs["3", "lanes"], logs["3", "torch"]
    assert lanes.keys() == torch.keys()
    for (step, tag), values in torch.items():
        if tag.startswith("loss"):
            assert lanes[step, tag] == pytest.approx(values, rel=1e-6, abs=1e-12)
