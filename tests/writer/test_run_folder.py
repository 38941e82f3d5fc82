"""Who may write into a run folder, and what becomes of data that is there."""

import json
import os
import resource
from contextlib import ExitStack

import pytest

import stable_nalu
from stable_nalu.base.errors import UsageError
from stable_nalu.writer.event_file import (
    EventFileReader,
    ResumePoint,
    RunRecord,
    RunWriter,
    claimed,
)

CONFIG = {"operation": "mul", "regualizer": 10, "interpolation_range": (1, 2), "max_iterations": 5}
RUN_CONTROL = frozenset({"max_iterations", "verbose"})


def record(**changes):
    return RunRecord.create("single_layer", CONFIG | changes, "python3 experiments/single_layer.py")


def claim(path, changes=None, **options):
    return claimed(path, record(**(changes or {})), run_control=RUN_CONTROL, **options)


def log(events, steps):
    writer = RunWriter(events)
    for step in steps:
        writer.scalar("a", step)
        writer.commit(step)
    writer.flush()
    return writer


def steps(folder):
    (path,) = visible(folder)
    return [event.step for event in EventFileReader(path)]


def visible(folder):
    return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]


@pytest.fixture
def finished(tmp_path):
    """A released run folder with steps 0 and 1."""
    path = tmp_path / "prefix" / "run"
    with claim(path) as events:
        log(events, (0, 1))
    return path


def test_a_run_folder_holds_one_visible_file_and_the_record(finished):
    (events,) = visible(finished)
    assert events.name.startswith("events.out.tfevents.")
    content = json.loads((finished / ".run.json").read_text())
    command = content["command"]
    assert (content["script"], command) == ("single_layer", "python3 experiments/single_layer.py")
    assert content["config"] == CONFIG | {"interpolation_range": [1, 2]}
    assert set(content["versions"]) == {"python", "torch", "numpy", "scipy", "stable_nalu"}
    assert content["versions"]["stable_nalu"] == stable_nalu.__version__
    assert "git_revision" in content


@pytest.mark.parametrize("flag", ["name_prefix", "id"])
def test_names_that_a_file_system_takes_for_the_same_are_two_runs(tmp_path, flag):
    with claim(tmp_path / "Run", {flag: "Run"}):
        pass
    # As a file system finds it that does not tell small letters from capital ones.
    (tmp_path / "Run").rename(tmp_path / "run")
    says, rules = "small and capital letters alone.*another --name-prefix", {"run_control": {flag}}
    with (
        pytest.raises(UsageError, match=says),
        claimed(tmp_path / "run", record(**{flag: "run"}), remove_existing_data=True, **rules),
    ):
        pass


def test_another_script_is_another_configuration(finished):
    other = RunRecord.create("simple_function_static", CONFIG, "python3 other.py")
    says = 'script: "single_layer" / "simple_function_static"'
    with pytest.raises(UsageError, match=says), claimed(finished, other, remove_existing_data=True):
        pass


@pytest.mark.parametrize("content", [None, "", "{}", "not json", "[" * 100_000, "a pipe"])
def test_a_folder_without_a_record_is_removed_as_asked(finished, content):
    (finished / ".run.json").unlink()
    if content == "a pipe":
        os.mkfifo(finished / ".run.json")
        says, rules = "cannot write the run folder .*a device, not a file", {"operation": "add"}
        with pytest.raises(UsageError, match=says):
            claim(finished, rules, remove_existing_data=True).__enter__()
        (finished / ".run.json").unlink()
    elif content is not None:
        (finished / ".run.json").write_text(content)
    with claim(finished, {"operation": "add"}, remove_existing_data=True) as events:
        log(events, (3,))
    assert steps(finished) == [3]


def test_a_second_claim_is_refused_until_release(tmp_path):
    with claim(tmp_path) as events:
        log(events, (0,))
        with pytest.raises(UsageError, match=f"in use by process {os.getpid()} on "):
            claim(tmp_path, remove_existing_data=True).__enter__()
    with claim(tmp_path, remove_existing_data=True):
        pass


def test_more_claims_and_writers_than_the_soft_limit_of_open_files(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 64
    if hard < 4 * limit:
        pytest.skip("the hard limit leaves no room")
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        with ExitStack() as held:
            for index in range(2 * limit):
                log(held.enter_context(claim(tmp_path / str(index))), (index,))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [steps(tmp_path / str(index)) for index in (0, 127)] == [[0], [127]]


def test_a_claim_leaves_no_trace_unless_something_was_or_is_logged(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KeyError), claim(path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with ExitStack() as held:
        events = held.enter_context(claim(path))
        log(events, (7,))
        point = ResumePoint(events.path.name, events.position)
        held.__exit__(KeyError, KeyError(), None)
    assert steps(path) == [7]
    with pytest.raises(KeyError), claim(path, resume=point):
        raise KeyError
    assert steps(path) == [7]


@pytest.mark.parametrize(
    "changes", [{"config": []}, {"config": None}, {"layer_files": None}, {"layer_files": [1]}]
)
def test_a_record_of_another_make_is_none(changes, tmp_path):
    with claim(tmp_path / "run"):
        path = tmp_path / "run" / ".run.json"
        assert RunRecord.read(tmp_path / "run") is not None
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        assert RunRecord.read(tmp_path / "run") is None
        path.unlink()
        path.mkdir()
        assert RunRecord.read(tmp_path / "run") is None
