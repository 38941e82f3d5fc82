"""Running the recurrent scripts in a test, and reading what they leave behind."""

import json
import os
from pathlib import Path

from stable_nalu.writer.event_file import EventFileReader


def logged(name: str) -> dict[str, list[tuple[int, object]]]:
    """Tag -> (step, value) in file order of the run `name`."""
    (path,) = (Path(os.environ["TENSORBOARD_DIR"]) / name).glob("events.out.tfevents.*")
    values: dict[str, list[tuple[int, object]]] = {}
    for event in EventFileReader(path):
        for tag, value in zip(event.tags, event.values, strict=True):
            values.setdefault(tag, []).append((event.step, value))
    return values


def results(script: str) -> list[dict]:
    """The records of a script's result file."""
    path = Path(os.environ["RESULTS_DIR"]) / f"{script}.ndjson"
    return [json.loads(line) for line in path.read_text().splitlines()]
