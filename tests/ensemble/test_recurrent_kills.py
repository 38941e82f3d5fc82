"""Recurrent scripts that are killed again and again end as if nothing had happened."""

import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, start, trained

SUMS = (
    *("--layer-type", "ReRegualizedLinearNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "20"),
)
WORDS = (
    *("--layer-type", "GumbelNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "10"),
)
KILLS = (
    Kill(signal.SIGTERM, "log"),
    Kill(signal.SIGKILL, "checkpoint", times=2),
    Kill(signal.SIGTERM, "checkpoint"),
    Kill(signal.SIGKILL, "checkpoint", seconds=0.1),
)


def results(root):
    (file,) = (root / "results").iterdir()
    return file.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "flag"),
    [
        ("simple_function_recurrent", SUMS, "--max-iterations"),
        ("number_translation", WORDS, "--max-epochs"),
    ],
)
def test_kills(script, words, flag, tmp_path):
    endless = (flag, "100000000")
    length = disturb(tmp_path / "disturbed", words, KILLS, 50, script, endless)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with start(tmp_path / name, script, *words, *length, *more) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(tmp_path / "disturbed")
    assert len(found) == 3
    assert_identical(found, trained(tmp_path / "undisturbed"))
    assert results(tmp_path / "disturbed") == results(tmp_path / "undisturbed")
