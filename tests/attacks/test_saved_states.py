"""Models, logs and records of runs that are damaged, exchanged or missing, and what is refused."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import LONGER, MODELS, RUNS, SHORT, TRAIN, names, rows

BOTH = ("--seed", "0-1")
AGAIN = (*TRAIN, *LONGER, *BOTH)
RUN = "reregualizedlinearmnac_op-mul_"


def model(place: Place, run: int = 0) -> Path:
    """The saved state of a finished run."""
    return place / MODELS / f"{names(place.made)[run]}.pth"


def folder(place: Place, run: int = 0) -> Path:
    """The log folder of a finished run."""
    return place / RUNS / names(place.made)[run]


def log(place: Place, run: int = 0) -> Path:
    """The event file of a finished run."""
    return next(folder(place, run).glob("events*"))


def meeting(then: Callable[[Place], object] | None = None) -> Callable[[Place], object]:
    """Finished runs, to which something happens."""

    def prepare(place: Place) -> None:
        place.bring(RUNS, MODELS)
        if then is not None:
            then(place)

    return prepare


def edited(change: Callable[[dict], object]) -> Callable[[Place], object]:
    """The state of the first run, with something in it changed."""

    def prepare(place: Place) -> None:
        state = torch.load(model(place), weights_only=True)
        change(state)
        torch.save(state, model(place))

    return meeting(prepare)


def with_bytes(change: Callable[[bytes], bytes]) -> Callable[[Place], object]:
    return meeting(lambda p: model(p).write_bytes(change(model(p).read_bytes())))


def exchanged(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


class Runs:
    """Code that a pickle would call."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def pickled(protocol: int, content: object) -> Callable[[Place], object]:
    return with_bytes(lambda _: pickle.dumps(content, protocol=protocol))


def _zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Runs()))
    return buffer.getvalue()


def gone(path: Path) -> Path:
    path.unlink()
    return path


STATES: dict[str, Callable[[Place], object]] = {
    "exchanged with that of another seed": meeting(lambda p: exchanged(model(p), model(p, 1))),
    "copied from another seed": meeting(
        lambda p: model(p).write_bytes(model(p, 1).read_bytes()),
    ),
    "exchanged along with the log": meeting(
        lambda p: (exchanged(model(p), model(p, 1)), exchanged(log(p), log(p, 1)))
    ),
    "with another seed in it": edited(lambda s: s["config"].update(seed=7)),
    "with another learning rate in it": edited(lambda s: s["config"].update(learning_rate=0.1)),
    "with another range in it": edited(
        lambda s: s["config"].update(interpolation_range=[3.0, 4.0])
    ),
    "with another layer in it": edited(lambda s: s["config"].update(layer_type="NAC")),
    "with parameters of another shape": edited(
        lambda s: s["model_state_dict"].update(
            {k: torch.zeros(3, 3) for k in s["model_state_dict"]}
        )
    ),
    "with parameters of other names": edited(
        lambda s: s.update(model_state_dict={"other": torch.zeros(1)})
    ),
    "with an iteration before the first": edited(lambda s: s.update(epoch=-5)),
    "with a half iteration": edited(lambda s: s.update(epoch=2.5)),
    "with no configuration": edited(lambda s: s.pop("config")),
    "with no progress": edited(lambda s: s.pop("progress")),
    "with no optimizer": edited(lambda s: s.pop("optimizer_state_dict")),
    "with no generator": edited(lambda s: s.pop("torch_rng_state")),
    "with a log of another name": edited(
        lambda s: s["progress"].update(event_file="events.out.tfevents.1.elsewhere")
    ),
    "with a log outside": edited(lambda s: s["progress"].update(event_file="../../../../x")),
    "with a position before the start": edited(lambda s: s["progress"].update(event_position=-1)),
    "with a position within an event": edited(lambda s: s["progress"].update(event_position=30)),
    "of no bytes": with_bytes(lambda _: b""),
    "of one byte": with_bytes(lambda c: c[:1]),
    "cut in half": with_bytes(lambda c: c[: len(c) // 2]),
    "less one byte": with_bytes(lambda c: c[:-1]),
    "of zeros": with_bytes(lambda c: b"\0" * len(c)),
    "of text": with_bytes(lambda _: b"a model\n"),
    "that is an empty archive": with_bytes(lambda _: b"PK\x05\x06" + b"\0" * 18),
    "that is an archive of code": with_bytes(lambda _: _zipped()),
    "that is a pickle": pickled(2, {"epoch": 1}),
    "that is a pickle of protocol 4": pickled(4, {"epoch": 1}),
    "that is a pickle of protocol 5": pickled(5, {"epoch": 1}),
    "that is a pickle of code": pickled(2, Runs()),
    "that is a list": meeting(lambda p: torch.save([1, 2], model(p))),
    "that is a number": meeting(lambda p: torch.save(3, model(p))),
    "that is a folder": meeting(lambda p: gone(model(p)).mkdir()),
    "that is a link to a device": meeting(lambda p: gone(model(p)).symlink_to("/dev/null")),
    "that is a link in a circle": meeting(lambda p: gone(model(p)).symlink_to(model(p).name)),
}


@attacks(
    Attack(
        f"{flag}: a state {what}",
        (*AGAIN, flag),
        (RUN,),
        prepare,
    )
    for flag in ("--resume", "--load-checkpoint")
    for what, prepare in STATES.items()
    # A link to nowhere is no state, so that --resume starts the run.
    if not (flag == "--resume" and what == "that is a link in a circle")
)
def test_saved_states(case, place):
    place.hold(case)


@attacks(
    [
        Attack(
            "what --resume meets names --resume",
            (*AGAIN, "--resume"),
            ("--resume",),
            with_bytes(lambda _: b""),
        ),
        Attack(
            "what --load-checkpoint meets names --load-checkpoint",
            (*AGAIN, "--load-checkpoint"),
            ("--load-checkpoint",),
            with_bytes(lambda _: b""),
        ),
        Attack(
            "a log that is gone, under --resume, names --resume",
            (*AGAIN, "--resume"),
            ("--resume",),
            edited(lambda s: s["progress"].update(event_file="events.out.tfevents.1.x")),
        ),
        Attack(
            "a state that is a pipe",
            (*AGAIN, "--load-checkpoint"),
            (".pth",),
            meeting(lambda p: os.mkfifo(gone(model(p)))),
            patience=10,
        ),
        Attack(
            "a state for one run of two",
            (*AGAIN, "--load-checkpoint"),
            ("--load-checkpoint", ".pth"),
            meeting(lambda p: model(p, 1).unlink()),
        ),
        Attack(
            "a state of another script",
            ("single_layer_robust", *TRAIN[1:], *LONGER, "--load-checkpoint"),
            ("--load-checkpoint",),
            meeting(),
        ),
    ]
)
def test_what_messages_name(case, place):
    place.hold(case)


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


FOREIGN: dict[str, Callable[[Place], object]] = {
    "of a single module": lambda p: (p.bring(MODELS), model(p).rename(p / "m.pth")),
    "of text": lambda p: p.file("m.pth", "a model"),
    "of no bytes": lambda p: p.file("m.pth"),
    "that is not there": lambda p: None,
    "that is a folder": lambda p: (p / "m.pth").mkdir(),
    "that is a pickle of code": lambda p: p.file("m.pth", pickle.dumps(Runs(), protocol=2)),
    "that is a pickle of protocol 4": lambda p: p.file("m.pth", pickle.dumps({}, protocol=4)),
    "that is a device": lambda p: (p / "m.pth").symlink_to("/dev/null"),
    "that is a list": lambda p: torch.save([1], p / "m.pth"),
}
SWEEP = ("pretrained_model_prediction_sweep", "--step-size", "4", "--layer-type", "NAC")


@attacks(
    [
        *(
            Attack(
                f"evaluating a model {what}",
                ("two_digit_mnist", "--data-source", "digits", "--evaluate", "{tmp}/m.pth"),
                ("--evaluate", "m.pth"),
                prepare,
            )
            for what, prepare in FOREIGN.items()
        ),
        *(
            Attack(
                f"sweeping over a model {what}",
                (*SWEEP, "--model-filepath", "{tmp}/m.pth", "--csv-save-filename", "x"),
                ("--model-filepath",),
                prepare,
            )
            for what, prepare in FOREIGN.items()
        ),
        Attack(
            "a sweep of no width",
            ("pretrained_model_prediction_sweep", "--gold-outputs", "--step-size", "0"),
            ("--step-size",),
        ),
        Attack(
            "a sweep that runs backwards",
            ("pretrained_model_prediction_sweep", "--gold-outputs", "--lower-bound", "9"),
            ("-bound",),
        ),
        Attack(
            "a sweep beyond memory",
            ("pretrained_model_prediction_sweep", "--gold-outputs", "--step-size", "1e-12"),
            ("--step-size",),
        ),
        Attack(
            "two models at a time",
            ("pretrained_model_prediction_sweep", "--gold-outputs", "--seed", "0-1"),
            ("one model",),
        ),
    ]
)
def test_models_that_are_looked_at(case, place):
    place.hold(case)
