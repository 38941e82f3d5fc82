"""What TensorBoard shows of all runs of a folder: what varies, when a run is solved, three charts.

It is a hidden event file beside the folders of the runs, which no exporter reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stable_nalu.layer import entries
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.layer_options import units_of, varying
from stable_nalu.statistics.setups import limit_of
from stable_nalu.tags import METRIC_TEST, RESULTS, logged_result
from stable_nalu.writer import EventFile, RunRecord
from stable_nalu.writer.event_file import FILE_PREFIX, event_message
from stable_nalu.writer.run_writer import hparam

from .runs import run_control
from .task import Task


def write_board(
    task: type[Task], spec: ScriptSpec, folder: Path, records: Mapping[str, RunRecord]
) -> None:
    """Write what TensorBoard shows of the runs in a folder, of which others may be there already.

    records: those of the runs that are trained now, by the names of their folders.
    """
    found = {path.name: RunRecord.read(path) for path in folder.iterdir()} | dict(records)
    configs = [
        Config(spec.name, spec.defaults | json.loads(json.dumps(record.config)), fixed=spec.fixed)
        for record in found.values()
        if record is not None and record.script == spec.name
    ]
    older = list(folder.glob(f".{FILE_PREFIX}*"))
    file = EventFile(folder / f".{time.time_ns()}")
    file.add(_event(0, *_summaries(task, spec, configs)))
    if task.by_engine:
        lines = _thresholds(configs)
        for step in (0, max(task.unit.last(config) for config in configs)):
            file.add(_event(step, lines))
    file.close()
    file.path.replace(folder / f".{FILE_PREFIX}{file.path.name[1:]}")
    for path in older:
        path.unlink(missing_ok=True)


def _event(step: int, *summaries: Any) -> bytes:
    event = event_message()(wall_time=time.time(), step=step)
    for summary in summaries:
        event.summary.MergeFrom(summary)
    return event.SerializeToString()


def _thresholds(configs: Sequence[Config]) -> Any:
    """Return the errors below which runs are solved, each once."""
    summary = event_message()().summary
    for threshold in sorted({limit_of(config).threshold for config in configs}):
        summary.value.add(tag=f"threshold/{threshold:.2g}", simple_value=threshold)
    return summary


def _summaries(task: type[Task], spec: ScriptSpec, configs: Sequence[Config]) -> list[Any]:
    """Return the columns of the HParams page, and the charts of Custom Scalars."""
    from tensorboardX.summary import custom_scalars, hparams

    last, flags = configs[-1], [f for f in spec.flags if f.dest not in run_control(spec)]
    dests = varying(flags, configs) or [flag.dest for flag in flags]
    results = reversed(RESULTS if task.by_engine else RESULTS[:2])
    short = last.short_names is not None
    columns, *_ = hparams(
        {dest: hparam(getattr(last, dest)) for dest in dests},
        dict.fromkeys(logged_result(tag, short=short) for tag in results),
    )
    error = [f"{METRIC_TEST}$", "threshold/"] if task.by_engine else ["metric/test/"]
    charts = {"test error": error, "sparsity error": [".*sparsity_error$"]}
    units = [entries().get(unit) for config in configs for unit in units_of(config)]
    gated = any(hasattr(entry.layer, "gate") for entry in units if entry is not None)
    if gated or any("npu" in getattr(config, "nac_mul", "") for config in configs):
        charts["gate"] = [".*gate/(mean|sparsity_error)$"]
    layout = {spec.name: {title: ("Multiline", tags) for title, tags in charts.items()}}
    return [columns, custom_scalars(layout)]
