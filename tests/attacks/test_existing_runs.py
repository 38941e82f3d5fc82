"""Runs that are there: their logs, records and models, what is kept and what goes on."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable

import pytest

from tests.attacks.finished import AGAIN, BOTH, exchanged, folder, gone, log, meeting, model
from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import MODELS, RUNS, SHORT, TRAIN, names, rows

LOGS: dict[str, Callable[[Place], object]] = {
    "gone": meeting(lambda p: log(p).unlink()),
    "shorter than when it was saved": meeting(
        lambda p: log(p).write_bytes(log(p).read_bytes()[:100])
    ),
    "empty": meeting(lambda p: log(p).write_bytes(b"")),
    "that of another seed": meeting(lambda p: log(p).write_bytes(log(p, 1).read_bytes())),
    "text": meeting(lambda p: log(p).write_bytes(b"my notes\n" * 1000)),
    "beside another": meeting(
        lambda p: log(p).with_name("events.out.tfevents.1.more").write_bytes(b"")
    ),
    "beside a file of the user's": meeting(lambda p: (folder(p) / "notes.txt").write_text("mine")),
    "a folder": meeting(lambda p: gone(log(p)).mkdir()),
    "a link to nothing": meeting(lambda p: gone(log(p)).symlink_to("nothing")),
    "a link to a device": meeting(lambda p: gone(log(p)).symlink_to("/dev/null")),
}


@attacks(
    Attack(f"continuing a log: {what}", (*AGAIN, "--load-checkpoint"), (RUNS,), prepare)
    for what, prepare in LOGS.items()
)
def test_logs(case, place):
    place.hold(case)


def record(change: Callable[[dict], object]) -> Callable[[Place], object]:
    """The record of the first run's configuration, with something in it changed."""

    def prepare(place: Place) -> None:
        path = folder(place) / ".run.json"
        content = json.loads(path.read_text())
        change(content["configuration"] if "configuration" in content else content["config"])
        path.write_text(json.dumps(content))

    return meeting(prepare)


@attacks(
    [
        Attack(
            f"{what}, {how}",
            (*AGAIN, *words),
            (RUNS,),
            prepare,
        )
        for how, words in (
            ("continued", ("--load-checkpoint",)),
            ("removed", ("--remove-existing-data",)),
            ("resumed", ("--resume",)),
        )
        for what, prepare in {
            "a record of another learning rate": record(lambda c: c.update(learning_rate=0.5)),
            "a record of another seed": record(lambda c: c.update(seed=5)),
            "records of two seeds exchanged": meeting(
                lambda p: exchanged(folder(p) / ".run.json", folder(p, 1) / ".run.json")
            ),
        }.items()
    ]
)
def test_records(case, place):
    place.hold(case)


@attacks(
    [
        Attack("a run that is there", AGAIN, ("--remove-existing-data",), meeting()),
        Attack(
            "a trained model whose log is gone",
            AGAIN,
            (".pth", "--remove-existing-data"),
            lambda p: p.bring(MODELS),
        ),
        Attack(
            "a trained model and another log folder",
            AGAIN,
            (".pth", "--remove-existing-data"),
            lambda p: p.bring(MODELS),
            env={"TENSORBOARD_DIR": "{tmp}/another"},
        ),
        Attack(
            "one trained model of two whose logs are gone",
            AGAIN,
            (".pth", "--remove-existing-data"),
            meeting(lambda p: (model(p).unlink(), (p / RUNS).rename(p / "aside"))),
        ),
        Attack(
            "a file of the user's among the events",
            (*AGAIN, "--remove-existing-data"),
            ("notes.txt",),
            meeting(lambda p: (folder(p) / "notes.txt").write_text("mine")),
        ),
        Attack(
            "a folder of the user's among the events",
            (*AGAIN, "--remove-existing-data"),
            ("plots",),
            meeting(lambda p: (folder(p) / "plots").mkdir()),
        ),
        Attack(
            "a file where the run's folder would be",
            (*AGAIN, "--remove-existing-data"),
            (RUNS,),
            lambda p: p.file(f"{RUNS}/{names(p.made)[0]}", "mine"),
        ),
        Attack(
            "a file where the folder of runs would be",
            (*AGAIN, "--remove-existing-data"),
            ("TENSORBOARD_DIR",),
            lambda p: p.file(RUNS, "mine"),
        ),
        Attack(
            "a file where the folder of models would be",
            AGAIN,
            ("SAVE_DIR",),
            lambda p: p.file(MODELS, "mine"),
        ),
        Attack(
            "a folder where a model would be",
            (*AGAIN, "--remove-existing-data"),
            ("SAVE_DIR",),
            meeting(lambda p: gone(model(p)).mkdir()),
        ),
        Attack(
            "a link to nothing where the run's folder would be",
            (*AGAIN, "--remove-existing-data"),
            (RUNS,),
            lambda p: (
                (p / RUNS).mkdir(parents=True),
                folder(p).symlink_to(p / "nothing" / "below"),
            ),
        ),
        Attack(
            "a link in a circle where the run's folder would be",
            (*AGAIN, "--remove-existing-data"),
            (RUNS,),
            lambda p: ((p / RUNS).mkdir(parents=True), folder(p).symlink_to(folder(p).name)),
        ),
        Attack(
            "a folder in place of the lock",
            (*AGAIN, "--remove-existing-data"),
            (RUNS,),
            meeting(lambda p: gone(folder(p) / ".lock").mkdir()),
        ),
        Attack(
            "a plan of which one run is there",
            (*TRAIN, *SHORT, "--seed", "1-3"),
            (RUNS,),
            meeting(),
        ),
    ]
)
def test_what_is_there_is_kept(case, place):
    place.hold(case)


@pytest.mark.parametrize("words", [("--remove-existing-data",), ("--load-checkpoint",), ()])
def test_a_run_in_use_is_left_alone(words, place):
    place.bring(RUNS, MODELS)
    with (folder(place, 1) / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        place.hold(Attack("locked", (*AGAIN, *words), (RUNS,)))


def _steps(last: int) -> Callable[[Place, object], object]:
    """Both runs have all steps up to the last, once."""

    def check(place: Place, outcome: object) -> None:
        words = ("--tensorboard-dir", f"{{tmp}}/{RUNS}", "--csv-out", "{tmp}/x.csv", "--strict")
        assert place.run("simple_function_static_export", *words).code == 0
        for name in names(place.made):
            found = [int(r["step"]) for r in rows(place / "x.csv") if r["name"] == name]
            assert found == list(range(0, last + 1, 2))

    return check


EVERYWHERE = ("tensorboard", "tensorboard/*", "save", "save/*")


@attacks(
    Attack(name, words, prepare=prepare, code=0, writes=EVERYWHERE, check=_steps(last))
    for name, words, prepare, last in (
        ("resuming goes on", (*AGAIN, "--resume"), meeting(), 8),
        ("continuing goes on", (*AGAIN, "--load-checkpoint"), meeting(), 8),
        ("resuming what is not there starts", (*AGAIN, "--resume"), None, 8),
        ("removing starts anew", (*TRAIN, *SHORT, *BOTH, "--remove-existing-data"), meeting(), 4),
        ("resuming what is done", (*TRAIN, *SHORT, *BOTH, "--resume"), meeting(), 4),
        (
            "resuming one of two",
            (*AGAIN, "--resume"),
            meeting(lambda p: (model(p).unlink(), log(p).unlink())),
            8,
        ),
        (
            "removing a model whose log is gone",
            (*TRAIN, *SHORT, *BOTH, "--remove-existing-data"),
            lambda p: p.bring(MODELS),
            4,
        ),
        (
            "a record that is gone",
            (*AGAIN, "--load-checkpoint"),
            meeting(lambda p: gone(folder(p) / ".run.json")),
            8,
        ),
        (
            "a lock that a killed process left",
            (*AGAIN, "--resume"),
            meeting(lambda p: (folder(p) / ".lock").write_text("process 1 on elsewhere\n")),
            8,
        ),
        (
            "events behind the saved state",
            (*AGAIN, "--resume"),
            meeting(lambda p: log(p).write_bytes(log(p).read_bytes() + b"half an event")),
            8,
        ),
        (
            "a saved model that is a link",
            (*AGAIN, "--load-checkpoint"),
            meeting(lambda p: model(p).symlink_to(model(p).rename(p / "save/elsewhere.pth"))),
            8,
        ),
        (
            "folders of runs that are links",
            (*AGAIN, "--load-checkpoint"),
            meeting(lambda p: folder(p).symlink_to(folder(p).rename(p / "tensorboard/elsewhere"))),
            8,
        ),
    )
)
def test_what_goes_on(case, place):
    place.hold(case)
