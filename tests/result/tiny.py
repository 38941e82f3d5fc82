"""A small measured experiment with a key that file names cannot hold."""

import pytest

from stable_nalu.base.papers import TRASK_2018
from stable_nalu.paper import published
from stable_nalu.paper.experiment import Experiment, Measure, Recipe, Resources, operations
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import batch, reproduce, shard
from stable_nalu.result.judged import point_columns
from stable_nalu.training import recorder

KEY = "tiny/measured"
VALID, TEST = "metric.valid.interpolation", "metric.test.extrapolation"
_SETTING = Recipe(
    "single_layer",
    "--input-size 2 --interpolation-range [1,2] --extrapolation-range [2,6] --max-iterations 20 "
    "--log-interval 10",
    range(3),
    Resources(minutes=1),
    prefix="tiny-measured/",
    variants=operations("add sub"),
)
TINY = Experiment(
    KEY,
    "Two units, measured",
    TRASK_2018,
    ("Table 0",),
    (
        _SETTING.model("nac", "NAC", "--layer-type NAC"),
        _SETTING.model("linear", "None", "--layer-type linear"),
    ),
    criterion="measured",
    measures=(
        Measure(VALID, "error", below=1e6),
        Measure(TEST, "error outside", typical="best", steps=(0, 10), digits=4),
        Measure("sparse.error.*", "of *"),
    ),
)
NUMBERS = f"""experiment,model,operation,point,measure,value,tolerance,label,source
{KEY},nac,add,,{VALID},1.5,1e9,PUB,table 0
{KEY},nac,sub,,{VALID},1e9,0.1,PUB,table 0
{KEY},nac,add,,{TEST}@10,3,,S3,notes
{KEY},linear,add,,{VALID},<nac,,S2,text
"""


@pytest.fixture
def in_this_process(monkeypatch):
    """Train shards one after another, without a process each.

    Few rows are evaluated, and runs are saved at their end alone, not at every fifth of so few
    iterations.
    """

    def run_shards(words, names, logs, *, processes):
        return max(batch.main([*words, "--task", str(number)]) for number in names)

    monkeypatch.setattr(reproduce, "run_shards", run_shards)
    monkeypatch.setattr(recorder, "EVALUATION_ROWS", 500)
    monkeypatch.setattr(shard, "_FEWEST_CHECKPOINTS", 1)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The experiment in the catalogue, and numbers that were given elsewhere for it."""
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "tiny.csv").write_text(NUMBERS)
    monkeypatch.setattr(published, "MEASURES", folder)
    monkeypatch.setitem(EXPERIMENTS, KEY, TINY)
    point_columns.cache_clear()
    yield TINY
    point_columns.cache_clear()
