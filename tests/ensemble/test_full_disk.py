"""A disk that fills up stops training in one line; what was saved last is whole and goes on."""

import pytest
import torch

from tests.ensemble.plans import assert_identical, fork, train, trained
from tests.ensemble.test_kills import ENDLESS

WORDS = (
    *("--layer-type", "NMRU", "--operation", "mul", "--seed", "0-2", "--batch-size", "4"),
    *("--max-iterations", "600", "--log-interval", "2", "--checkpoint-interval", "20"),
)


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
"""
"""Files that outgrow 60 kB cannot be written."""


def assert_stops(root, started):
    """With one line of error, and with states of all runs that can be read."""
    with started as process:
        _, errors = process.communicate()
    (line,) = errors.splitlines()
    assert process.returncode == 2
    assert line.startswith(f"single_layer.py: error: cannot write {root}")
    files = list((root / "save" / "t").glob("[!.]*.pth"))
    saved = [torch.load(path, weights_only=True)["epoch"] for path in files]
    assert len(saved) == 3
    assert all(20 <= epoch < 600 for epoch in saved)


@pytest.mark.slow
def test_a_file_that_cannot_grow(tmp_path):
    """With room again, it ends as if nothing had happened."""
    full, undisturbed = tmp_path / "full", tmp_path / "undisturbed"
    # First, as it compiles what would be larger than the limit.
    assert train(undisturbed, "single_layer", *WORDS) == 0
    assert_stops(full, fork(full, "single_layer", *WORDS, before=LIMITED))
    assert train(full, "single_layer", *WORDS, "--resume") == 0
    assert_identical(trained(full), trained(undisturbed))


@pytest.mark.slow
def test_a_second_process_is_refused(tmp_path):
    """And the first one does not notice."""
    words = (*WORDS[:-6], *ENDLESS, "--log-interval", "100000", "--no-compile", "--workers", "1")
    with fork(tmp_path, "single_layer", *words) as first:
        for line in first.stdout:
            if line.startswith("train 0"):
                break
        with fork(tmp_path, "single_layer", *words, "--resume") as second:
            _, errors = second.communicate()
        assert second.returncode == 2
        assert f"in use by process {first.pid} on " in errors
        assert first.poll() is None
        first.terminate()
        _, errors = first.communicate()
        assert (first.returncode, errors) == (75, "")
