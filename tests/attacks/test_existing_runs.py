"""Runs that are there: their logs, records and models, what is kept and what goes on."""

import fcntl
import json
from collections.abc import Callable

import pytest

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import (
    AGAIN,
    BOTH,
    MODELS,
    RUNS,
    SHORT,
    TRAIN,
    exchanged,
    folder,
    gone,
    log,
    meeting,
    meets,
    model,
    names,
    put,
    rows,
)

CONTINUED, REMOVED = f"{AGAIN} --load-checkpoint", f"{AGAIN} --remove-existing-data"
RESUMED, ANEW = f"{AGAIN} --resume", f"{TRAIN} {SHORT} {BOTH} --remove-existing-data"

LOGS: dict[str, Callable[[Place], object]] = {
    "gone": lambda p: log(p).unlink(),
    "shorter than when it was saved": lambda p: log(p).write_bytes(log(p).read_bytes()[:100]),
    "empty": lambda p: log(p).write_bytes(b""),
    "that of another seed": lambda p: log(p).write_bytes(log(p, 1).read_bytes()),
    "text": lambda p: log(p).write_bytes(b"my notes\n" * 1000),
    "beside another": lambda p: log(p).with_name("events.out.tfevents.1.more").write_bytes(b""),
    "a link to a device": lambda p: gone(log(p)).symlink_to("/dev/null"),
}
test_logs = attacks(
    meets(f"continuing a log: {what}", CONTINUED, RUNS, prepare) for what, prepare in LOGS.items()
)


def record(change: Callable[[dict], object]) -> Callable[[Place], object]:
    """The record of the first run's configuration, with something in it changed."""

    def prepare(place: Place) -> None:
        path = folder(place) / ".run.json"
        content = json.loads(path.read_text())
        change(content["configuration"] if "configuration" in content else content["config"])
        path.write_text(json.dumps(content))

    return prepare


RECORDS: dict[str, Callable[[Place], object]] = {
    "a record of another learning rate": record(lambda c: c.update(learning_rate=0.5)),
    "a record of another seed": record(lambda c: c.update(seed=5)),
    "records of two seeds exchanged": lambda p: exchanged(
        folder(p) / ".run.json", folder(p, 1) / ".run.json"
    ),
}
test_records = attacks(
    meets(f"{what}, {how}", words, RUNS, prepare)
    for how, words in (("continued", CONTINUED), ("removed", REMOVED), ("resumed", RESUMED))
    for what, prepare in RECORDS.items()
)


def linked(target: str) -> Callable[[Place], object]:
    """A link in place of the first run's folder."""
    return lambda p: ((p / RUNS).mkdir(parents=True), folder(p).symlink_to(target))


STARTS_ANEW = (".pth", "--remove-existing-data")
test_what_is_there_is_kept = attacks(
    meets(
        "a run that is there",
        AGAIN,
        ("--remove-existing-data", "--load-checkpoint", "--name-prefix"),
    ),
    meets("the log of a state is gone", CONTINUED, "--load-checkpoint", LOGS["gone"]),
    Attack("nothing to continue", CONTINUED, ("--load-checkpoint", ".pth")),
    *(
        Attack(
            f"removing runs, {root} below a file",
            REMOVED,
            root,
            meeting(put("file")),
            env={root: "{tmp}/file/below"},
        )
        for root in ("TENSORBOARD_DIR", "SAVE_DIR")
    ),
    Attack("a trained model whose log is gone", AGAIN, STARTS_ANEW, lambda p: p.bring(MODELS)),
    Attack(
        "a trained model and another log folder",
        AGAIN,
        STARTS_ANEW,
        lambda p: p.bring(MODELS),
        env={"TENSORBOARD_DIR": "{tmp}/another"},
    ),
    meets(
        "one trained model of two whose logs are gone",
        AGAIN,
        STARTS_ANEW,
        lambda p: (model(p).unlink(), (p / RUNS).rename(p / "aside")),
    ),
    meets(
        "a file among the events of the last run",
        REMOVED,
        "notes.txt",
        lambda p: (folder(p, 1) / "notes.txt").write_text("mine"),
    ),
    meets("a folder among the events", REMOVED, "plots", lambda p: (folder(p) / "plots").mkdir()),
    Attack("a file for the folder of runs", REMOVED, "TENSORBOARD_DIR", put(RUNS)),
    meets("a folder for a model", REMOVED, "SAVE_DIR", lambda p: gone(model(p)).mkdir()),
    Attack(
        "a link in a circle for the run's folder",
        REMOVED,
        RUNS,
        lambda p: linked(names(p.made)[0])(p),
    ),
    meets(
        "a folder in place of the lock", REMOVED, RUNS, lambda p: gone(folder(p) / ".lock").mkdir()
    ),
    meets("a plan of which one run is there", f"{TRAIN} {SHORT} --seed 1-3", RUNS),
)


@pytest.mark.parametrize("words", [REMOVED, CONTINUED, RESUMED, AGAIN])
def test_a_run_in_use_is_left_alone(words, place):
    place.bring(RUNS, MODELS)
    with (folder(place, 1) / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        place.hold(Attack("locked", words, RUNS))


EXPORTED = f"simple_function_static_export --tensorboard-dir {{tmp}}/{RUNS} --csv-out {{tmp}}/x.csv"


def goes_on(name: str, words: str, prepare: Callable[[Place], object] | None, last=8) -> Attack:
    """Both runs have all steps up to the last, once."""

    def check(place: Place, outcome: object) -> None:
        assert place.run(f"{EXPORTED} --strict").code == 0
        for run in names(place.made):
            found = [int(r["step"]) for r in rows(place / "x.csv") if r["name"] == run]
            assert found == list(range(0, last + 1, 2))

    everywhere = ("tensorboard", "tensorboard/*", "save", "save/*")
    return Attack(name, words, prepare=prepare, code=0, writes=everywhere, check=check)


test_what_goes_on = attacks(
    goes_on("resuming goes on", RESUMED, meeting()),
    goes_on("continuing goes on", CONTINUED, meeting()),
    goes_on("resuming what is not there starts", RESUMED, None),
    goes_on("removing starts anew", ANEW, meeting(), 4),
    goes_on("resuming what is done", f"{TRAIN} {SHORT} {BOTH} --resume", meeting(), 4),
    goes_on(
        "resuming one of two", RESUMED, meeting(lambda p: (model(p).unlink(), log(p).unlink()))
    ),
    goes_on("a record that is gone", CONTINUED, meeting(lambda p: gone(folder(p) / ".run.json"))),
    goes_on(
        "a lock that a killed process left",
        RESUMED,
        meeting(lambda p: (folder(p) / ".lock").write_text("process 1 on elsewhere\n")),
    ),
    goes_on(
        "events behind the saved state",
        RESUMED,
        meeting(lambda p: log(p).write_bytes(log(p).read_bytes() + b"half an event")),
    ),
)
