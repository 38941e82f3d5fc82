"""Published numbers belong to points of the catalogue."""

import csv
import hashlib
from statistics import median

from stable_nalu.base.files import CHECKOUT
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import (
    FOLDER,
    LABELS,
    MEASURES,
    SEEDS,
    all_published,
    all_published_measures,
    published,
    published_seeds,
    same_point,
)
from stable_nalu.result.judged import measure_of
from tools.long_table import SOURCES

CHECKSUMS = {
    "arithmetic_units.csv": "2330d620a5a856feadefae84d4186c7cc871b89125aa4a82cf652cc5da17ba2d",
    "division.csv": "a8160acb06786d9efa1027831e0542fbfc11cbddc7406baafb3d26ae559147b8",
    "dmu.csv": "2c9764fa1f20b702f50a3f5e791f2f13e0fc14143635dd9a2729d107fbc3e1a8",
    "mcfc.csv": "a420144b3b13183a007938a20c30dbbed32f831b9a7eb5f83b4764001893dfda",
    "npu.csv": "e48948c77886d909f5180a88a99ecb2d7c2f85006baf09ffa40cc276f665fb57",
    "robust.csv": "e75915861f80b227230ce6b4abcc6b687e15122a9ee05f017c6d52226e8205c3",
    "published_seeds.csv": "dce6038f8e65e25293207036b9b0d01013d89ef3ccca13fdfc76d229ae4d5c61",
    "article.csv": "a2494fcce1935279b46d7171584b603b49caa2a5447f971d448fdbfb7d44e13a",
    "calcnet.csv": "17dc792979c96aaf446ed348424edd5301d68716b50b8a8fd892886ded61f0f3",
    "eql.csv": "bdb2956a3c90ddae408336c55dc4100954cf12f98d6a7ce3c75f8f2dcbeb2992",
    "eql_2016.csv": "dc1f0051bb9cead93b9c75d9bc4c0cf077c75eabc2230d8e76e7c73c849de878",
    "nalu.csv": "be0ee2b79dfae1673d506d7e88e86dcf3350a67e321921a7b4635eabfa38ebbc",
    "notes.csv": "e0c2c803befe13c3d1fbeed923f62055ff1f4091878d5a742a45868cb61f022e",
}
"""SHA-256 of the published numbers: a single digit that moves is noticed."""


def test_points_are_matched_by_number_or_text():
    assert same_point(0.1, "0.10")
    assert same_point("U[-2, 2]", "U[-2,2]")
    assert not same_point(3.0, "2")


def test_no_published_number_moved():
    paths = [*FOLDER.glob("*.csv"), *MEASURES.glob("*.csv"), SEEDS]
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths} == CHECKSUMS


def test_every_rate_belongs_to_a_model_and_has_a_source():
    points = all_published()
    assert {row.source for row in points} == set(SOURCES)
    for row in points:
        EXPERIMENTS[row.experiment].model(row.model)
        assert 0 <= row.solved <= row.runs
    places = {(r.experiment, r.model, r.operation, r.column, r.point) for r in points}
    assert len(places) == len(points)


def test_worked_values():
    rows = {(r.model, r.operation): r for r in published("function_task_static_all")}
    assert len(rows) == 66
    nmu = rows["nmu", "mul"]
    assert (nmu.solved, nmu.runs, nmu.median) == (98, 100, 1_434_500)
    assert (nmu.mean.value, nmu.mean.lower, nmu.mean.upper) == (1.52e6, 1.46e6, 1.57e6)
    assert nmu.sparsity.value == 4.21e-7
    assert rows["gated", "div"].solved == 0
    assert published("function_task_static") == published("function_task_static_all")
    # An upper limit has no value.
    rows = published("function_task_static_mul_hidden_size")
    nmu = next(row for row in rows if row.model == "nmu" and row.point == "2")
    assert (nmu.sparsity.value, nmu.sparsity.upper) == (None, 5e-5)


def test_published_steps_of_single_seeds():
    """What the file behind Table 6 holds agrees with the table: solved seeds and median steps."""
    points = {(r.model, r.operation): r for r in published("function_task_static_all")}
    known = published_seeds("function_task_static_all")
    assert len(known) == 15
    for one in known:
        point = points[one.model, one.operation]
        assert (len(one.solved_at), one.runs) == (point.solved, point.runs)
        if point.median is not None:
            assert median(one.solved_at.values()) == point.median
    steps = next(o.solved_at for o in known if (o.model, o.operation) == ("nau", "add"))
    assert sum(step > 36_000 for step in steps.values()) == 6


def test_numbers_of_measured_experiments_belong_to_a_measure():
    rows = all_published_measures()
    for row in rows:
        assert row.label in LABELS, row
        assert row.source, row
        assert row.tolerance is None or row.number is not None, row
        if row.experiment not in EXPERIMENTS:
            continue
        experiment = EXPERIMENTS[row.experiment]
        assert experiment.model(row.model).key == row.model
        assert measure_of(experiment, row.measure) is not None, row
        assert not row.better_than or experiment.model(row.better_than).key == row.better_than
    points = [(r.experiment, r.model, r.operation, r.point, r.measure, r.value) for r in rows]
    assert len(set(points)) == len(points)


def test_numbers_that_are_only_recalled_stand_in_an_appendix_alone():
    """137 numbers of the NALU paper's tables; no table, figure or page has one of them."""
    with (CHECKOUT / "docs" / "nalu-recalled.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 137
    recalled = {(r["experiment"], r["model"], r["operation"], r["measure"]) for r in rows}
    given = {
        (r.experiment, r.model, r.operation, r.measure)
        for r in all_published_measures()
        if r.number is not None
    }
    assert not recalled & given
    for name in ("README.md", "index.html"):
        page = (CHECKOUT / "docs" / "reproduction" / name).read_text(encoding="utf-8")
        assert "recalled, unconfirmed" not in page.replace("its supplement is recalled", "")
        assert "not remembered" not in page
