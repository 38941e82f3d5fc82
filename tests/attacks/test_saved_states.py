"""Models, logs and records of runs that are damaged, exchanged or missing, and what is refused."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable

import torch

from tests.attacks.finished import AGAIN, RUN, exchanged, gone, log, meeting, model
from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import LONGER, MODELS, TRAIN


def edited(change: Callable[[dict], object]) -> Callable[[Place], object]:
    """The state of the first run, with something in it changed."""

    def prepare(place: Place) -> None:
        state = torch.load(model(place), weights_only=True)
        change(state)
        torch.save(state, model(place))

    return meeting(prepare)


def with_bytes(change: Callable[[bytes], bytes]) -> Callable[[Place], object]:
    return meeting(lambda p: model(p).write_bytes(change(model(p).read_bytes())))


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
    "with a position beyond any memory": edited(
        lambda s: s["progress"].update(event_position=10**12)
    ),
    "with complex weights": edited(
        lambda s: s["model_state_dict"].update(
            {k: v + 1j for k, v in s["model_state_dict"].items()}
        )
    ),
    "with complex moments": edited(
        lambda s: s["optimizer_state_dict"].update(
            state={
                k: {name: v + 1j for name, v in moments.items()}
                for k, moments in s["optimizer_state_dict"]["state"].items()
            }
        )
    ),
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
