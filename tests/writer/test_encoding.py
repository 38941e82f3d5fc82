"""The hand-written messages against the bytes of tensorboardX."""

import math
import struct

import numpy as np
import pytest

from stable_nalu.writer import encoding
from stable_nalu.writer.histogram import bin_edges, histogram

summary = pytest.importorskip("tensorboardX.summary")
Event = pytest.importorskip("tensorboardX.proto.event_pb2").Event

TAG = "network/layer_1/nac/W"
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    "value", [0.0, 1.5, -1e-30, 3.4e38, 1e39, -1e300, math.inf, -math.inf, math.nan]
)
def test_scalar_bytes(value):
    assert encoding.scalar(TAG, value) == summary.scalar(TAG, value).SerializeToString()


@pytest.mark.parametrize("content", ["<pre>[[1. 2.]]</pre>", "", "β" * 300])
def test_text_bytes(content):
    ours = encoding.text(f"/{TAG}/text_summary", content)
    assert ours == summary.text(f"/{TAG}", content).SerializeToString()


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0, 3.0]),
        np.array([0.0]),
        np.array([-1.0, 0.0, 1e-13, 1e19]),
        RANDOM.normal(size=(100, 3)),
        RANDOM.normal(size=50).astype(np.float32),
        -np.abs(RANDOM.normal(size=20)) * 1e-9,
        bin_edges()[[0, 700, 774, 775, 900]],
    ],
    ids=["three", "zero", "wide", "normal", "float32", "small-negative", "on-edges"],
)
def test_histogram_bytes(values):
    theirs = summary.histogram(TAG, values, bins=bin_edges().tolist())
    assert encoding.histogram(TAG, histogram(values)) == theirs.SerializeToString()


def test_histogram_counts_are_those_of_a_plain_loop():
    values = np.array([-2.5, -2.5, 0.3, 0.0, 7.0])
    found = histogram(values)
    edges = bin_edges()
    assert found.counts.sum() == len(values)
    for upper, lower, count in zip(
        found.limits[1:], found.limits[:-1], found.counts[1:], strict=True
    ):
        assert count == sum(lower <= v < upper for v in values)
    assert len(edges) == 1549
    assert edges[774] == 0
    assert edges[775] == 1e-12


def test_histogram_passes_over_what_is_not_finite():
    found = histogram(np.array([math.nan, 1.0, math.inf, 3.0]))
    assert (found.n, found.minimum, found.maximum, found.total) == (2, 1.0, 3.0, 4.0)
    assert histogram(np.array([math.nan, -math.inf])) is None
    assert histogram(np.array([])) is None


def test_histogram_of_huge_values_uses_the_outermost_bins():
    found = histogram(np.array([-1e25, 1e300]))
    assert found.counts[[1, -1]].tolist() == [1, 1]
    assert found.sum_of_squares == math.inf


@pytest.mark.parametrize("step", [0, 1, 127, 128, 5_000_000, 2**62, -1])
def test_event_with_several_values(step):
    values = [encoding.scalar("a", 1.5), encoding.text("/b/text_summary", "t")]
    event = Event.FromString(encoding.summary_event(12.25, step, values))
    assert (event.wall_time, event.step) == (12.25, step)
    assert [value.tag for value in event.summary.value] == ["a", "/b/text_summary"]
    assert event.SerializeToString() == encoding.summary_event(12.25, step, values)


def test_file_version():
    event = Event.FromString(encoding.file_version(3.0))
    assert (event.wall_time, event.file_version) == (3.0, "brain.Event:2")


def test_scalars_are_float32():
    assert encoding.scalar("a", 0.1)[-4:] == struct.pack("<f", np.float32(0.1))
