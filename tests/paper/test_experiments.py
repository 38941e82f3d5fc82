"""Experiments as data: their runs, names, flags and ranges are the published ones."""

import csv
import hashlib
import re
import shlex
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import duration
from stable_nalu.paper.experiment import expected_runs, flags, gathered, merged, words
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.result import batch
from stable_nalu.result.batch import JOB_SCRIPTS
from stable_nalu.result.shard import pending, shards
from stable_nalu.result.stored import seconds_here
from stable_nalu.result.trained import exporter_of
from stable_nalu.task.table import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]

MODELS = [(key, model) for key, e in EXPERIMENTS.items() for model in e.models]
PLANS = Path(__file__).with_name("plans.csv")
"""Runs and iterations of each published model, with a digest of its commands and run names.

They were compared with the papers and their scripts, and must not change.
"""


@cache
def runs_of(key):
    """Model -> its runs of two seeds."""
    return {model.key: expected_runs(model, [0, 1]) for model in EXPERIMENTS[key].models}


def plan_of(key, model):
    """The row of a model in the table of plans."""
    lines = [" ".join(command.line) for command in model.commands()]
    text = "\n".join([*lines, *(run.name for run in runs_of(key)[model.key])])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    cells = {"experiment": key, "model": model.key, "runs": model.runs}
    return {k: str(v) for k, v in {**cells, "iterations": model.iterations, "plan": digest}.items()}


def test_commands_and_names_of_runs_are_the_published_ones():
    with PLANS.open(encoding="utf-8", newline="") as file:
        known = {(row["experiment"], row["model"]): row for row in csv.DictReader(file)}
    found = {(key, model.key): plan_of(key, model) for key, model in MODELS}
    assert [found.get(place) for place in known] == list(known.values())


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_run_is_planned_once_and_every_model_has_a_key_and_a_label(key):
    names, models = [], EXPERIMENTS[key].models
    for model in models:
        assert expected_runs(model, []) == []
        found = runs_of(key)[model.key]
        assert len(found) * len(model.seeds) == model.runs * 2
        assert {run.seed for run in found} == {0, 1}
        names += [run.name for run in found]
    assert len(set(names)) == len(names)
    assert len({model.key for model in models}) == len(models)
    if key != "function_task_static_mul_paramaters":
        assert len({model.label for model in models}) == len(models)


def test_an_experiment_name_stands_for_one_table_and_equal_runs():
    prefixes, known = {model.prefix for _, model in MODELS}, {}
    for prefix in prefixes:
        assert not prefixes & {str(parent) for parent in PurePosixPath(prefix).parents}
    for key, model in MODELS:
        assert known.setdefault((key, model.csv), model.prefix) == model.prefix
        if model.prefix == model.csv and "/" in model.prefix:
            assert known.setdefault(model.prefix, model.flags) == model.flags, (key, model.key)


def test_unknown_key_names_similar_ones():
    with pytest.raises(UsageError, match="did you mean nips-sltr-in2"):
        find("nips-sltr-in")


def test_no_two_runs_are_one_where_small_and_capital_letters_are_the_same():
    names = {run.name for key in EXPERIMENTS for runs in runs_of(key).values() for run in runs}
    names |= {model.csv for _, model in MODELS} | {one.stem for one in EXPERIMENTS.values()}
    assert len({name.casefold() for name in names}) == len(names)


def test_flags_are_read_merged_and_written():
    read = flags("--operation div --range '[1, 2]' [3,4] --no-cuda")
    assert read == {"--operation": ("div",), "--range": ("[1, 2]", "[3,4]"), "--no-cuda": ()}
    assert words(read) == ["--operation", "div", "--range", "[1, 2]", "[3,4]", "--no-cuda"]
    # A later flag replaces a former one; a value needs a flag; points keep their order.
    assert flags("--regualizer 0 --seed 1 --regualizer 2")["--regualizer"] == ("2",)
    assert merged(flags("--a 1 --b 2"), flags("--b 3")) == {"--a": ("1",), "--b": ("3",)}
    with pytest.raises(ValueError, match="does not begin with a flag"):
        flags("5 --a")
    points = (flags("--i [1,2] --e [2,6]"), flags("--i [0,1] --e [2,6]"))
    assert gathered(points) == {"--i": ("[1,2]", "[0,1]"), "--e": ("[2,6]", "[2,6]")}
    assert gathered(()) == {}


@pytest.mark.parametrize(
    ("script", "folds", "ids"),
    [
        ("icml_2022/static_mnist_prod_isolated", 10, range(1, 6)),
        ("icml_2022/static_mnist_prod_colour_concat", 3, range(6, 11)),
        ("two_digit_mnist/parallel_run", 10, (78, 79, 80, 81, 84)),
    ],
)
def test_a_batch_script_of_pairs_plans_every_fold_of_every_published_id(script, folds, ids):
    planned = []
    for shard in shards(JOB_SCRIPTS[script].named_models(), None):
        assert exporter_of(shard.model)[0] == "two_digit_mnist/two_digit_mnist_reader.py"
        spec = SCRIPTS[shard.model.script]
        for command, names in pending(shard):
            (config,) = spec.plan(command.words).configs
            assert names == [spec.run_name(config)]
            planned.append((config.id, config.seed))
    assert sorted(planned) == sorted((one, fold) for one in ids for fold in range(folds))
    assert exporter_of(find("nips-sltr-in2").models[0])[0] == "simple_function_static.py"


def test_estimated_time_is_that_of_image_networks():
    seconds = seconds_here(find("static-mnist-mul-isolated"), cores=2)
    assert seconds is not None
    assert "years" in duration(seconds) or "days" in duration(seconds)


def test_a_dry_run_prints_commands_that_resume(tmp_path, monkeypatch, capsys):
    """Of sequences: what the script would start, with checkpoints every few epochs."""
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path))
    assert batch.main(["icml_2022/sequential_mnist_prod_long", "0", "1", "--dry-run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line) for line in printed if "experiments/" in line]
    assert len(commands) == 6
    for command in commands:
        (config,) = SCRIPTS[Path(command[1]).stem].plan(command[2:]).configs
        assert (config.operation, config.resume) == ("cumprod", True)
        assert config.checkpoint_interval == 20


def test_the_readme_counts_the_papers_whose_experiments_are_here():
    words = {14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen"}
    papers = {e.paper for e in EXPERIMENTS.values() if e.paper}
    others = "report", "article", "notes", "not published"
    count = sum(not paper.reference.startswith(others) for paper in papers)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"the experiments of {words[count]} papers" in readme


def test_the_audit_names_keys_of_experiments():
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    keys = re.findall(r"`([^`]+)`", "".join(re.findall(r"\|([^|]*)\|\n", text)))
    assert len(keys) > 15
    assert set(keys) <= {*EXPERIMENTS}
