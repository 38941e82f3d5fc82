"""Readers of programs that are killed again and again end as if nothing had happened."""

import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, fork, trained

SCRIPT = "program_evaluation"
SMALL = (
    *("--batch-size", "4", "--hidden-size", "4", "--workers", "1"),
    *("--checkpoint-interval", "7", "--log-interval", "100000", "--test-ranges", "[[100,1000]]"),
)
KILLS = (
    Kill(signal.SIGKILL, "checkpoint", times=2),
    Kill(signal.SIGTERM, "checkpoint", seconds=0.02),
    Kill(signal.SIGKILL, "checkpoint"),
)


@pytest.mark.slow
def test_three_kills(tmp_path):
    """States of the generators are among what is resumed, also within a block of batches."""
    words = ("--program", "programs", "--layer-type", "NALU", "--seed", "0-1", *SMALL)
    length = disturb(tmp_path / "disturbed", words, KILLS, 60, SCRIPT)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with fork(tmp_path / name, SCRIPT, *words, *length, *more) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(tmp_path / "disturbed")
    assert len(found) == 2
    assert_identical(found, trained(tmp_path / "undisturbed"))
