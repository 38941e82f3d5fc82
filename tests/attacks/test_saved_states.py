"""Models, logs and records of runs that are damaged, exchanged or missing, and what is refused."""

import io
import os
import pickle
import zipfile
from collections.abc import Callable

import torch

from tests.attacks.harness import Attack, Place, attacks
from tests.attacks.subjects import AGAIN, MODELS, RUN, TRAIN, exchanged, gone, log, meets, model


def edited(change: Callable[[dict], object]) -> Callable[[Place], object]:
    """The state of the first run, with something in it changed."""

    def prepare(place: Place) -> None:
        state = torch.load(model(place), weights_only=True)
        changed = change(state)
        torch.save(state if changed is None else changed, model(place))

    return prepare


def with_(part: str = "", /, **values: object) -> Callable[[Place], object]:
    """The state, or a part of it, with other values."""
    return edited(lambda s: (s[part] if part else s).update(values))


def without(key: str) -> Callable[[Place], object]:
    return edited(lambda s: {k: v for k, v in s.items() if k != key})


def of(change: Callable[[bytes], bytes]) -> Callable[[Place], object]:
    return lambda p: model(p).write_bytes(change(model(p).read_bytes()))


def a(content: object) -> Callable[[Place], object]:
    return lambda p: torch.save(content, model(p))


class Runs:
    """Code that a pickle would call."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def pickled(protocol: int, content: object) -> Callable[[Place], object]:
    return of(lambda _: pickle.dumps(content, protocol=protocol))


def _zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Runs()))
    return buffer.getvalue()


def _complex(tensors: dict) -> dict:
    return {key: value + 1j for key, value in tensors.items()}


STATES: dict[str, Callable[[Place], object]] = {
    "exchanged with that of another seed": lambda p: exchanged(model(p), model(p, 1)),
    "copied from another seed": lambda p: model(p).write_bytes(model(p, 1).read_bytes()),
    "exchanged along with the log": lambda p: (
        exchanged(model(p), model(p, 1)),
        exchanged(log(p), log(p, 1)),
    ),
    "with another seed in it": with_("config", seed=7),
    "with another learning rate in it": with_("config", learning_rate=0.1),
    "with another layer in it": with_("config", layer_type="NAC"),
    "with another output size in it": with_("config", output_size=2),
    "with parameters of another shape": edited(
        lambda s: s | {"model_state_dict": dict.fromkeys(s["model_state_dict"], torch.zeros(3, 3))}
    ),
    "with parameters of other names": with_(model_state_dict={"other": torch.zeros(1)}),
    "with no parameters": with_(model_state_dict={}),
    "with an iteration before the first": with_(epoch=-5),
    "with no configuration": without("config"),
    "with no progress": without("progress"),
    "with no optimizer": without("optimizer_state_dict"),
    "with no generator": without("torch_rng_state"),
    "with a log of another name": with_("progress", event_file="events.out.tfevents.1.elsewhere"),
    "with a log outside": with_("progress", event_file="../../../../x"),
    "with a position before the start": with_("progress", event_position=-1),
    "with a position within an event": with_("progress", event_position=30),
    "with a position beyond any memory": with_("progress", event_position=10**12),
    "with complex weights": edited(
        lambda s: s | {"model_state_dict": _complex(s["model_state_dict"])}
    ),
    "of no bytes": of(lambda _: b""),
    "cut in half": of(lambda c: c[: len(c) // 2]),
    "less one byte": of(lambda c: c[:-1]),
    "of text": of(lambda _: b"a model\n"),
    "that is an archive of code": of(lambda _: _zipped()),
    "that is a pickle": pickled(2, {"epoch": 1}),
    "that is a pickle of code": pickled(2, Runs()),
    "that is a list": a([1, 2]),
    "that holds the name of a function": a({"epoch": 1, "code": os.mkdir}),
    "that is a folder": lambda p: gone(model(p)).mkdir(),
    "that is a link to a device": lambda p: gone(model(p)).symlink_to("/dev/null"),
    "that is a link in a circle": lambda p: gone(model(p)).symlink_to(model(p).name),
}
test_saved_states = attacks(
    meets(f"{flag}: a state {what}", f"{AGAIN} {flag}", RUN, prepare)
    for flag in ("--resume", "--load-checkpoint")
    for what, prepare in STATES.items()
    # A link to nowhere is no state, so that --resume starts the run.
    if not (flag == "--resume" and what == "that is a link in a circle")
)

LOAD, RESUME = "--load-checkpoint", "--resume"
test_what_messages_name = attacks(
    *(
        meets(f"what {flag} meets names {flag}", f"{AGAIN} {flag}", f"argument {flag}: ", prepare)
        for flag, prepare in ((RESUME, STATES["of no bytes"]), (LOAD, STATES["of no bytes"]))
    ),
    meets(
        "a log that is gone, under --resume, names --resume",
        f"{AGAIN} --resume",
        RESUME,
        STATES["with a log of another name"],
    ),
    meets(
        "states that were exchanged name the seeds",
        f"{AGAIN} --resume",
        ("argument --resume: the checkpoint of ", "is of another config", "--seed 1 there, 0 here"),
        STATES["exchanged with that of another seed"],
    ),
    meets(
        "a state of another option that is not in the name",
        f"{AGAIN} {LOAD}",
        "--output-size 2 there, 1 here",
        STATES["with another output size in it"],
    ),
    meets(
        "a state for one run of two",
        f"{AGAIN} {LOAD}",
        (LOAD, ".pth"),
        lambda p: model(p, 1).unlink(),
    ),
    meets(
        "a state of another script",
        TRAIN.replace("single_layer", "single_layer_robust") + f" {LOAD}",
        LOAD,
    ),
)


FOREIGN: dict[str, Callable[[Place], object]] = {
    "of a single module": lambda p: (p.bring(MODELS), model(p).rename(p / "m.pth")),
    "of text": lambda p: p.file("m.pth", "a model"),
    "of no bytes": lambda p: p.file("m.pth"),
    "that is not there": lambda p: None,
    "that is a folder": lambda p: (p / "m.pth").mkdir(),
    "that is a pickle of code": lambda p: p.file("m.pth", pickle.dumps(Runs(), protocol=2)),
    "that is a device": lambda p: (p / "m.pth").symlink_to("/dev/null"),
    "that is a list": lambda p: torch.save([1], p / "m.pth"),
}
EVALUATE = "two_digit_mnist --data-source digits --evaluate {tmp}/m.pth"
SWEEP = "pretrained_model_prediction_sweep"
test_models_that_are_looked_at = attacks(
    *(
        Attack(f"{script} a model {what}", words, says, prepare)
        for script, words, says in (
            ("evaluating", EVALUATE, ("--evaluate", "m.pth")),
            (
                "sweeping over",
                f"{SWEEP} --step-size 4 --layer-type NAC --model-filepath {{tmp}}/m.pth "
                "--csv-save-filename x",
                "--model-filepath",
            ),
        )
        for what, prepare in FOREIGN.items()
    ),
    *(
        Attack(f"a sweep {what}", f"{SWEEP} --gold-outputs {words}", says)
        for what, words, says in (
            ("beyond memory", "--step-size 1e-12", "--step-size"),
            ("of two models at a time", "--seed 0-1", "one model"),
        )
    ),
)
