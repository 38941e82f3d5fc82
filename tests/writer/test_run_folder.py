"""Who may write into a run folder, and what becomes of data that is there."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import stable_nalu
from stable_nalu.errors import UsageError
from stable_nalu.writer import ResumePoint, RunFolder, RunRecord, RunWriter
from stable_nalu.writer.event_file import event_message
from stable_nalu.writer.event_reader import EventFileReader

CONFIG = {"operation": "mul", "regualizer": 10, "interpolation_range": (1, 2), "max_iterations": 5}
RUN_CONTROL = frozenset({"max_iterations", "verbose"})


def record(**changes):
    return RunRecord.create("single_layer", CONFIG | changes, "python3 experiments/single_layer.py")


def claim(path, changes=None, **options):
    return RunFolder.claim(path, record(**(changes or {})), run_control=RUN_CONTROL, **options)


def log(folder, steps):
    writer = RunWriter(folder)
    for step in steps:
        writer.scalar("a", step)
        writer.commit(step)
    writer.flush()


def resume_point(folder):
    folder.events.flush()
    return ResumePoint(folder.events.path.name, folder.events.position)


def steps(folder):
    (path,) = visible(folder)
    return [event.step for event in EventFileReader(path)]


def visible(folder):
    return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]


@pytest.fixture
def finished(tmp_path):
    """A released run folder with steps 0 and 1."""
    path = tmp_path / "prefix" / "run"
    with claim(path) as folder:
        log(folder, (0, 1))
    return path


def test_a_run_folder_holds_one_visible_file_and_the_record(finished):
    (events,) = visible(finished)
    assert events.name.startswith("events.out.tfevents.")
    content = json.loads((finished / ".run.json").read_text())
    assert content["script"] == "single_layer"
    assert content["config"] == CONFIG | {"interpolation_range": [1, 2]}
    assert content["command"] == "python3 experiments/single_layer.py"
    assert set(content["versions"]) == {"python", "torch", "numpy", "scipy", "stable_nalu"}
    assert content["versions"]["stable_nalu"] == stable_nalu.__version__
    assert "git_revision" in content


def test_existing_data_is_not_touched_unasked(finished):
    before = {entry.name: entry.read_bytes() for entry in visible(finished)}
    with pytest.raises(UsageError, match="--remove-existing-data .*--load-checkpoint .*--id"):
        claim(finished)
    assert {entry.name: entry.read_bytes() for entry in visible(finished)} == before


def test_removal_starts_anew_also_after_a_claim_that_failed(finished):
    with pytest.raises(UsageError, match="already holds data"):
        claim(finished)
    with claim(finished, {"max_iterations": 9}, remove_existing_data=True) as folder:
        log(folder, (7,))
    assert steps(finished) == [7]
    assert json.loads((finished / ".run.json").read_text())["config"]["max_iterations"] == 9


@pytest.mark.parametrize("same", [{"regualizer": 10.0}, {"interpolation_range": [1, 2]}])
def test_equal_values_are_the_same_configuration(finished, same):
    claim(finished, same, remove_existing_data=True).release()
    assert steps(finished) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"operation": "add"}, 'operation: "mul" / "add"'),
        ({"regualizer": 1, "operation": "add"}, 'operation: "mul" / "add"; regualizer: 10 / 1'),
        ({"new_flag": True}, r"new_flag: \(not recorded\) / true"),
    ],
)
@pytest.mark.parametrize("how", ["remove", "continue"])
def test_data_of_another_configuration_is_refused(finished, changes, named, how):
    (events,) = visible(finished)
    options = (
        {"remove_existing_data": True}
        if how == "remove"
        else {"resume": ResumePoint(events.name, 0)}
    )
    with pytest.raises(UsageError, match=f"will not {how} .*{named}"):
        claim(finished, changes, **options)
    assert steps(finished) == [0, 1]


@pytest.mark.parametrize("flag", ["name_prefix", "id"])
def test_names_that_a_file_system_takes_for_the_same_are_two_runs(tmp_path, flag):
    claim(tmp_path / "Run", {flag: "Run"}).release()
    # As a file system finds it that does not tell small letters from capital ones.
    (tmp_path / "Run").rename(tmp_path / "run")
    with pytest.raises(UsageError, match="small and capital letters alone.*another --name-prefix"):
        RunFolder.claim(
            tmp_path / "run", record(**{flag: "run"}), run_control={flag}, remove_existing_data=True
        )


def test_another_script_is_another_configuration(finished):
    other = RunRecord.create("simple_function_static", CONFIG, "python3 other.py")
    with pytest.raises(UsageError, match='script: "single_layer" / "simple_function_static"'):
        RunFolder.claim(finished, other, remove_existing_data=True)


@pytest.mark.parametrize("content", [None, "", "{}", "not json", "[" * 100_000, "a pipe"])
def test_a_folder_without_a_record_is_removed_as_asked(finished, content):
    (finished / ".run.json").unlink()
    if content == "a pipe":
        os.mkfifo(finished / ".run.json")
        with pytest.raises(UsageError, match="cannot write the run folder .*a device, not a file"):
            claim(finished, {"operation": "add"}, remove_existing_data=True)
        (finished / ".run.json").unlink()
    elif content is not None:
        (finished / ".run.json").write_text(content)
    with claim(finished, {"operation": "add"}, remove_existing_data=True) as folder:
        log(folder, (3,))
    assert steps(finished) == [3]


def test_removal_leaves_what_is_no_event_file(finished):
    (finished / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="besides event files it holds notes.txt"):
        claim(finished, remove_existing_data=True)
    assert len(visible(finished)) == 2


def test_resuming_continues_the_file_at_the_checkpoint(tmp_path):
    folder = claim(tmp_path)
    log(folder, (0, 1))
    point = resume_point(folder)
    log(folder, (2, 3))
    folder.release()
    with claim(tmp_path, {"max_iterations": 50}, resume=point, remove_existing_data=True) as again:
        log(again, (2, 3, 4))
    assert steps(tmp_path) == [0, 1, 2, 3, 4]
    content = json.loads((tmp_path / ".run.json").read_text())
    assert content["config"]["max_iterations"] == 50
    assert content["resumed_with"] == ["python3 experiments/single_layer.py"]


@pytest.mark.parametrize("files", [[], ["events.out.tfevents.1.a", "events.out.tfevents.2.a"]])
def test_resuming_needs_the_file_of_the_checkpoint(tmp_path, files):
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match=r"checkpoint belongs to events\.out\.tfevents\.1\.a"):
        claim(tmp_path, resume=ResumePoint("events.out.tfevents.1.a", 0))


@pytest.mark.parametrize("position", [0, 1, 39, 60])
def test_a_log_is_continued_at_the_end_of_a_record_only(finished, position):
    (events,) = visible(finished)
    content = events.read_bytes()
    with pytest.raises(UsageError, match=rf"no record ends at byte {position}, where"):
        claim(finished, resume=ResumePoint(events.name, position))
    assert events.read_bytes() == content


def test_the_log_of_another_run_is_not_continued(finished, tmp_path):
    (events,) = visible(finished)
    with claim(tmp_path / "other") as other:
        log(other, (0, 1))
    content = visible(tmp_path / "other")[0].read_bytes()
    events.write_bytes(content)
    with pytest.raises(UsageError, match="it is the log of another run"):
        claim(finished, resume=ResumePoint(events.name, len(content)))
    assert events.read_bytes() == content


def test_the_record_says_when_the_log_began(finished):
    (events,) = visible(finished)
    began = json.loads((finished / ".run.json").read_text())["log_started"]
    assert event_message().FromString(events.read_bytes()[12:36]).wall_time == began
    with claim(finished, resume=ResumePoint(events.name, events.stat().st_size)):
        assert json.loads((finished / ".run.json").read_text())["log_started"] == began


def test_a_second_claim_is_refused_until_release(tmp_path):
    folder = claim(tmp_path)
    log(folder, (0,))
    with pytest.raises(UsageError, match=f"in use by process {os.getpid()} on "):
        claim(tmp_path, remove_existing_data=True)
    folder.release()
    folder.release()
    claim(tmp_path, remove_existing_data=True).release()


def test_a_second_process_is_refused(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from stable_nalu.errors import UsageError\n"
        "from stable_nalu.writer import RunFolder, RunRecord\n"
        "try: RunFolder.claim(Path(sys.argv[1]), RunRecord.create('s', {}, 'c'),\n"
        "                     remove_existing_data=True)\n"
        "except UsageError as error: sys.exit(str(error))\n"
    )

    def second_process():
        return subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=Path(stable_nalu.__file__).parents[1],
        )

    with RunFolder.claim(tmp_path, RunRecord.create("s", {}, "c")) as folder:
        log(folder, (0, 1))
        refused = second_process()
        assert refused.returncode == 1
        assert f"in use by process {os.getpid()}" in refused.stderr
        assert steps(tmp_path) == [0, 1]
    assert second_process().returncode == 0
    assert steps(tmp_path) == []


@pytest.mark.parametrize("root", [None, "chosen"])
def test_an_unwritable_folder_names_the_variable(tmp_path, monkeypatch, root):
    (tmp_path / "chosen").write_text("a file where the folder should be")
    if root is None:
        monkeypatch.delenv("TENSORBOARD_DIR", raising=False)
    else:
        monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / root))
    expected = "set TENSORBOARD_DIR" if root is None else f"TENSORBOARD_DIR is {tmp_path / root}"
    with pytest.raises(UsageError, match=expected) as caught:
        claim(tmp_path / "chosen" / "run")
    assert "\n" not in str(caught.value)


def test_more_claims_than_the_soft_limit_of_open_files(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 64
    if hard < 4 * limit:
        pytest.skip("the hard limit leaves no room")
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    folders = []
    try:
        for index in range(2 * limit):
            folders.append(claim(tmp_path / str(index)))
            log(folders[-1], (index,))
    finally:
        for folder in folders:
            folder.release()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [steps(tmp_path / str(index)) for index in (0, 127)] == [[0], [127]]


def test_a_claim_leaves_no_trace_unless_something_was_or_is_logged(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KeyError), claim(path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    folder = claim(path)
    log(folder, (7,))
    point = resume_point(folder)
    folder.__exit__(KeyError, KeyError(), None)
    assert steps(path) == [7]
    with pytest.raises(KeyError), claim(path, resume=point):
        raise KeyError
    assert steps(path) == [7]


def test_checking_finds_a_folder_in_use_and_changes_nothing(tmp_path):
    path = tmp_path / "run"
    RunFolder.check(path, record())
    assert not path.exists()
    with claim(path), pytest.raises(UsageError, match=f"in use by process {os.getpid()}"):
        RunFolder.check(path, record(), remove_existing_data=True)
    RunFolder.check(path, record(), remove_existing_data=True)
    assert len(visible(path)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"config": []},
        {"config": None},
        {"config": "a"},
        {"layer_files": None},
        {"layer_files": [1]},
    ],
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
