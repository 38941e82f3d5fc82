"""Plans that die at any moment go on with --resume and end as if nothing had happened."""

import pytest

from stable_nalu.training import checkpoint
from tests.ensemble.plans import assert_identical, train, trained

NOISY = ("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise")
LENGTH = ("--max-iterations", "50", "--log-interval", "20", "--checkpoint-interval", "20")
THREE = ("--seed", "0-2", *NOISY, *LENGTH)


class Killed(BaseException):
    """Stands for the end of the process: nothing in the project catches it."""


def kill_at(monkeypatch, moment):
    """End the process before the `moment`-th change of the save folder, counted from 0."""
    count = iter(range(1000))
    save, replace = checkpoint.save_torch, checkpoint.Path.replace

    def counted(change):
        def changing(path, *arguments):
            if path.name.endswith(".pending.pth") and next(count) == moment:
                raise Killed
            return change(path, *arguments)

        return changing

    monkeypatch.setattr(checkpoint, "save_torch", counted(save))
    monkeypatch.setattr(checkpoint.Path, "replace", counted(replace))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    assert train(root, "single_layer", *THREE) == 0
    return trained(root)


# Two checkpoints and the final one, each of three files written and three put in place.
@pytest.mark.parametrize("moment", [1, 4, 6, 8, 9, 11, 12, 15])
def test_dying_while_a_stack_is_saved(moment, undisturbed, tmp_path, capsys):
    with pytest.MonkeyPatch.context() as monkeypatch:
        kill_at(monkeypatch, moment)
        with pytest.raises(Killed):
            train(tmp_path, "single_layer", *THREE)
    capsys.readouterr()
    assert train(tmp_path, "single_layer", *THREE, "--resume") == 0
    if moment < 15:
        # One stack again: the runs that were saved and those that were not go on together.
        assert "3 runs in 1 stack on" in capsys.readouterr().out
    assert_identical(trained(tmp_path), undisturbed)
    assert [path.name for path in (tmp_path / "save" / "t").glob(".*")] == []


def test_a_finished_plan_is_not_trained_again(undisturbed, tmp_path, capsys):
    assert train(tmp_path, "single_layer", *THREE) == 0
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    before = [(path, path.read_bytes()) for path in files]
    capsys.readouterr()
    assert train(tmp_path, "single_layer", *THREE, "--resume") == 0
    assert "3 runs already trained to iteration 50; raise" in capsys.readouterr().out
    assert [(path, path.read_bytes()) for path in files] == before


def test_runs_of_two_plans_are_resumed_apart(tmp_path, capsys):
    """Runs that start at different iterations cannot share a stack."""
    one = ("--seed", "0", *NOISY, *LENGTH)
    assert train(tmp_path, "single_layer", *one) == 0
    longer = tuple("80" if word == "50" else word for word in THREE)
    assert train(tmp_path, "single_layer", *longer, "--resume") == 0
    assert "3 runs in 2 stacks" in capsys.readouterr().out
    assert {run.checkpoint["epoch"] for run in trained(tmp_path).values()} == {81}


def test_a_resumed_plan_is_cut_like_the_whole(tmp_path, capsys):
    """What is finished counts when stacks are made: seed 2 and 3 share one, as before."""
    four = ("--seed", "0-3", *NOISY, *LENGTH, "--ensemble-size", "2")
    assert train(tmp_path / "whole", "single_layer", *four) == 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        kill_at(monkeypatch, 12)
        with pytest.raises(Killed):
            train(tmp_path / "cut", "single_layer", *four)
    capsys.readouterr()
    assert train(tmp_path / "cut", "single_layer", *four, "--resume") == 0
    out = capsys.readouterr().out
    assert "2 runs already trained" in out
    assert "2 runs in 1 stack on" in out
    assert_identical(trained(tmp_path / "cut"), trained(tmp_path / "whole"))
