"""The loop that all tasks share: what is logged when, stacks, interruption and resumption."""

from tests.experiments.scripts import read, run, run_names

SCRIPT = "identity_autoencoder"
UNIFORM = ("--layer-type", "Tanh", "--train-sampling", "uniform", "--log-interval", "4")


def test_a_row_measures_what_the_updates_before_it_have_made():
    """The first row is of the start weights; the last one is logged, whatever the interval is."""
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "6") == 0
    (name,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "6")
    log = read(name)
    errors = log.series("metric/valid/interpolation")
    assert sorted(errors) == [0, 4, 6]
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1") == 0
    (short,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1")
    assert read(short).series("metric/valid/interpolation") == {0: errors[0]}
    assert sorted(log.series("loss/train/critation")) == [0, 4, 6]
