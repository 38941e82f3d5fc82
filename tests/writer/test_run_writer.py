"""Tags, values and steps as a run logs them."""

import math
from pathlib import Path

import numpy as np
import pytest

from stable_nalu.reader.event_file import EventFileReader
from stable_nalu.writer import RunWriter


@pytest.fixture
def writer(tmp_path):
    writer = RunWriter(tmp_path)
    yield writer
    writer.close()


def logged(writer):
    """(step, tag, value) in file order."""
    writer.flush()
    return [
        (event.step, tag, value)
        for event in EventFileReader(writer.events.path)
        for tag, value in zip(event.tags, event.values, strict=True)
    ]


def test_scalar_tags_lose_the_slash_and_text_tags_keep_it(writer):
    writer.scalar("/loss/train/critation", 2.0)
    writer.text("network/layer_1/nac/W", "one")
    writer.text("/network/layer_1/nac/W", "two")
    writer.text("reinit", "three", rooted=False)
    writer.commit(7)
    assert logged(writer) == [
        (7, "loss/train/critation", 2.0),
        (7, "/network/layer_1/nac/W/text_summary", b"one"),
        (7, "/network/layer_1/nac/W/text_summary", b"two"),
        (7, "reinit/text_summary", b"three"),
    ]


def test_tensor_text_has_every_element_in_lines_of_60(writer):
    value = np.arange(2000, dtype=np.float32).reshape(2, 1000) / 7
    writer.tensor("W", value)
    writer.commit(0)
    ((_, _, text),) = logged(writer)
    assert text.startswith(b"<pre>[[")
    assert text.endswith(b"]]</pre>")
    assert b"..." not in text
    assert max(map(len, text[5:-6].splitlines())) <= 60
    numbers = [float(word) for word in text[5:-6].replace(b"[", b"").replace(b"]", b"").split()]
    np.testing.assert_allclose(numbers, value.reshape(-1), atol=1e-5)


def test_summary_is_mean_unbiased_variance_and_norm(writer):
    writer.summary("network/x", np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32))
    writer.commit(0)
    assert logged(writer) == [
        (0, "network/x/mean", 3.0),
        (0, "network/x/var", pytest.approx(14 / 3, rel=1e-7)),
        (0, "network/x/norm", pytest.approx(math.sqrt(50), rel=1e-7)),
    ]


@pytest.mark.filterwarnings("error")
def test_summary_of_one_element_has_no_variance(writer):
    writer.summary("grad", np.array([[-2.0]]))
    writer.commit(0)
    (_, _, mean), (_, _, variance), (_, _, norm) = logged(writer)
    assert (mean, norm) == (-2.0, 2.0)
    assert math.isnan(variance)


@pytest.mark.filterwarnings("error")
def test_values_that_are_not_finite_are_logged_as_they_are(writer):
    writer.summary("x", np.array([math.inf, -math.inf, math.nan]))
    writer.scalar("loss", np.float64(1e300))
    writer.histogram("W", np.array([math.nan]))
    writer.commit(0)
    tags = {tag: value for _, tag, value in logged(writer)}
    assert tags["loss"] == math.inf
    assert math.isnan(tags["x/mean"])
    assert list(tags) == ["x/mean", "x/var", "x/norm", "loss"]


def test_a_step_is_one_event_and_an_empty_one_none(writer):
    writer.commit(0)
    writer.scalar("a", 1.0)
    writer.scalar("b", 2.0)
    writer.commit(1)
    writer.commit(2)
    writer.flush()
    (event,) = EventFileReader(writer.events.path)
    assert (event.step, event.tags, event.values) == (1, ("a", "b"), (1.0, 2.0))


def test_what_was_not_committed_is_dropped(tmp_path):
    writer = RunWriter(tmp_path)
    writer.scalar("a", 1.0)
    writer.close()
    assert logged(writer) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_open_writers_hold_no_file_descriptors(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    writers = [RunWriter(tmp_path / str(i), verbose=True) for i in range(50)]
    for writer in writers:
        writer.scalar("a", 1.0)
        writer.commit(0)
        writer.flush()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert all(len(logged(writer)) == 1 for writer in writers)
