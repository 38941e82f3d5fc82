"""Tags, values and steps as a run logs them."""

import math

import numpy as np
import pytest

from stable_nalu.writer import RunWriter
from stable_nalu.writer.event_file import EventFileReader, bin_edges
from tests.experiments.scripts import messages

TAG = "network/layer_1/nac/W"


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


def events(writer):
    """All events of the file but the first, which states the version."""
    writer.flush()
    version, *found = messages(writer.events.path.parent)
    assert version.file_version == "brain.Event:2"
    return found


def value_of(writer):
    """The only logged value, as a message."""
    writer.commit(0)
    ((value,),) = (event.summary.value for event in events(writer))
    return value


@pytest.mark.filterwarnings("error")
def test_histogram_of_values_that_are_huge_or_not_finite(writer):
    """The outermost bins take what is huge."""
    writer.histogram(TAG, np.array([math.nan, -math.inf]))
    writer.histogram(TAG, np.array([]))
    writer.histogram(TAG, np.array([math.nan, -1e25, math.inf, 1e300]))
    found = value_of(writer).histo
    assert (found.num, found.min, found.max, found.sum_squares) == (2, -1e25, 1e300, math.inf)
    assert (found.bucket[1], found.bucket[-1]) == (1, 1)
    assert (found.bucket_limit[0], found.bucket_limit[-1]) == tuple(bin_edges()[[0, -1]])


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


def test_a_step_is_one_event_an_empty_one_none_and_the_rest_is_dropped(writer):
    writer.commit(0)
    writer.scalar("a", 1.0)
    writer.scalar("b", 2.0)
    writer.commit(1)
    writer.commit(2)
    writer.scalar("a", 1.0)
    writer.close()
    (event,) = EventFileReader(writer.events.path)
    assert (event.step, event.tags, event.values) == (1, ("a", "b"), (1.0, 2.0))
