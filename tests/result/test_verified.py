"""The record of kept rows that were trained again, and what the page says of it."""

import csv
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import command, stored
from stable_nalu.result.stored import Verified, add_verified, digest_of
from tests.result.made_up import write
from tools.notes import replaced, verified_of

KEY = "simple_mul"


def known(row, cells, *, seed=0, equal=11, trained="alone", ended="2026-01-02T03:04:05+00:00"):
    return Verified(KEY, row, digest_of(cells), seed, trained, 11, equal, ended, "torch 2", "abc")


@pytest.fixture
def rows(tmp_path):
    """Cells of made-up kept rows, in a folder of results."""
    write(KEY, tmp_path, range(3))
    with stored.path_of(KEY, tmp_path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_digest_is_of_every_digit_and_of_no_order(rows):
    cells = rows[0]
    assert digest_of(dict(reversed(cells.items()))) == digest_of(cells)
    assert len({digest_of(row) for row in rows}) == len(rows)
    assert digest_of({**cells, "threshold": cells["threshold"] + "0"}) != digest_of(cells)
    text = json.dumps({"a": "1", "b": "•"}, ensure_ascii=False).encode()
    assert digest_of({"b": "•", "a": "1"}) == hashlib.sha256(text).hexdigest()[:16]


def test_the_last_verification_of_the_same_digits_counts(rows, tmp_path):
    first, second = known("first", rows[0], equal=9), known("second", rows[1], seed=None)
    add_verified(tmp_path, [first, second])
    again = known("first", rows[0])
    add_verified(tmp_path, [again])
    assert verified_of(KEY, tmp_path) == [again, second]
    assert replaced(tmp_path) == []


def test_rows_that_are_verified_at_the_same_time_are_all_noted(rows, tmp_path):
    found = [known(f"row {number}", rows[0]) for number in range(32)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: add_verified(tmp_path, [one]), found))
    assert sorted(verified_of(KEY, tmp_path), key=str) == sorted(found, key=str)


def test_rows_that_were_replaced_do_not_count(rows, tmp_path):
    right = known("right", {**rows[0], "solved": "2"})
    wrong = known("wrong", {**rows[1], "solved": "2"}, equal=10)
    still_kept = known("still kept", rows[2], equal=10)
    add_verified(tmp_path, [right, wrong, still_kept])
    assert verified_of(KEY, tmp_path) == [still_kept]
    assert replaced(tmp_path) == [wrong]
    stored.path_of(KEY, tmp_path).unlink()
    assert replaced(tmp_path) == [wrong, still_kept]


def test_the_page_counts_rows_chosen_at_random(rows, tmp_path, capsys):
    add_verified(
        tmp_path,
        [
            known("first", rows[0]),
            known("second", rows[1], equal=10),
            known("named", rows[2], seed=None),
            known("gone", {**rows[3], "solved": "2"}, equal=10),
        ],
    )
    words = ["--report", "--data", str(tmp_path), "--report-out", str(tmp_path / "page")]
    assert command.main(words) == 0
    page = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    assert (
        "- 4 rows, 3 of them drawn at random, were trained again: **2 of 4 came out equal in every "
        "digit**, 2 of them alone and 0 in a stack with others; 1 that did not was replaced, and "
        "stays in this count ([verified.csv](../verified"
    ) in page
    assert "| 2 of 3 |" in page


def test_the_kept_record_is_of_rows_that_there_were():
    """Every line is of a planned row; those of rows that are kept have as many cells as these."""
    for key, experiment in EXPERIMENTS.items():
        found = verified_of(key, stored.DATA)
        if not found:
            continue
        path = stored.path_of(key)
        with path.open(encoding="utf-8", newline="") as file:
            cells = {digest_of(row): row for row in csv.DictReader(file)}
        models = {model.key for model in experiment.models}
        assert len({one.digest for one in found}) == len(found)
        for one in found:
            row = cells[one.digest]
            assert one.compared == len(row) >= one.equal
            assert row["model"] in models
            assert one.row.startswith(row["model"])
            assert one.row.endswith(f"seed {row['seed']}")
