"""Recurrent scripts that are killed again and again end as if nothing had happened."""

import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, start, trained

SUMS = (
    *("--layer-type", "ReRegualizedLinearNAC", "--seed", "0-2", "--max-iterations", "4000"),
    *("--checkpoint-interval", "100"),
)
WORDS = (
    *("--layer-type", "GumbelNAC", "--seed", "0-2", "--max-epochs", "1500", "--verbose"),
    *("--checkpoint-interval", "20"),
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
    ("script", "words"), [("simple_function_recurrent", SUMS), ("number_translation", WORDS)]
)
def test_kills(script, words, tmp_path):
    codes = disturb(tmp_path / "disturbed", words, KILLS, script)
    assert codes == [75, -signal.SIGKILL, 75, -signal.SIGKILL]
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        process = start(tmp_path / name, script, *words, *more)
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    found = trained(tmp_path / "disturbed")
    assert len(found) == 3
    assert_identical(found, trained(tmp_path / "undisturbed"))
    assert results(tmp_path / "disturbed") == results(tmp_path / "undisturbed")
