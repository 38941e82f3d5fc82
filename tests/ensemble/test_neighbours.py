"""Runs of a stack do not notice each other: bit for bit what they are in other company."""

from tests.experiments.scripts import (
    assert_same_state,
    load_script,
    read,
    run_names,
    saved,
)

SHORT = ("--max-iterations", "24", "--log-interval", "6")
LINEAR = ("--operation", "add", "--layer-type", "linear", "--optimizer", "sgd")
REINIT = (
    *("--operation", "mul", "--layer-type", "iNALU", "--reinit", "--clip-grad-value", "0.1"),
    *("--reinit-epoch-interval", "4", "--reinit-max-stored-losses", "6"),
    *("--reinit-loss-thr", "1"),
)


def assert_same_figures(name, other):
    one, two = read(name), read(other)
    assert repr(one.values) == repr(two.values)
    assert_same_state(saved(name)["model_state_dict"], saved(other)["model_state_dict"])


def train(prefix, script, *words):
    """Names of the runs, under a name prefix of their own."""
    code = load_script(script).main(["--no-cuda", "--name-prefix", prefix, *words])
    names = run_names(script, *words)
    return code, [f"{prefix}/{name.removeprefix('t/')}" for name in names]


def test_a_run_that_diverges_leaves_its_neighbours_alone():
    rates = ("0.001", "0.002", "0.003")
    calm = train("calm", "single_layer", *LINEAR, *SHORT, "--learning-rate", *rates)
    rates = ("0.001", "1e30", "0.003")
    wild = train("wild", "single_layer", *LINEAR, *SHORT, "--learning-rate", *rates)
    assert (calm[0], wild[0]) == (0, 3)
    for k in (0, 2):
        assert_same_figures(calm[1][k], wild[1][k])
    assert "/diverged/text_summary" in read(wild[1][1]).tags


def test_each_run_restarts_by_itself():
    # So small a rate that the error stays: such a run is stuck, the others improve.
    words = (*REINIT, *SHORT, "--learning-rate", "1e-12", "0.001")
    _, names = train("stack", "single_layer_benchmark", *words)
    counts = [saved(name)["progress"]["task"]["count"] for name in names]
    assert counts[0] > counts[1] == 0
    for name, count in zip(names, counts, strict=True):
        texts = read(name).series("reinit/text_summary")
        assert list(texts.values()) == [str(k).encode() for k in range(count)]
