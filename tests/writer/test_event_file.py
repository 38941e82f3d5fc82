"""Checksums, files as other readers see them, continuing a file, and decoding of damaged ones."""

import hashlib
import math
import time

import numpy as np
import pytest
from tensorboardX.proto import event_pb2
from tensorboardX.summary import text

from stable_nalu.base.errors import UsageError
from stable_nalu.writer import EventFile, RunWriter
from stable_nalu.writer.event_file import Event, EventFileReader, record


def test_tensorboard_reads_what_was_written(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    writer = RunWriter(tmp_path)
    for step in (0, 1000, 200_000):
        writer.scalar("/metric/valid/interpolation", step + 0.5)
        writer.tensor("/network/layer_1/nac/W", np.full((1, 2), step))
        writer.histogram("/network/layer_1/nac/W", np.arange(3.0))
        writer.commit(step)
    writer.close()
    log = accumulator.EventAccumulator(str(tmp_path)).Reload()
    points = log.Scalars("metric/valid/interpolation")
    assert [(p.step, p.value) for p in points] == [(0, 0.5), (1000, 1000.5), (200_000, 200_000.5)]
    (text,) = log.Tensors("/network/layer_1/nac/W/text_summary")[1].tensor_proto.string_val
    assert text == b"<pre>[[1000 1000]]</pre>"
    assert log.Histograms("network/layer_1/nac/W")[0].histogram_value.sum == 3


def test_the_bytes_are_those_of_the_first_writer(tmp_path, monkeypatch):
    """Its messages were encoded by hand; files of both are kept, and figures are made of them."""
    monkeypatch.setattr(time, "time", lambda: 1_600_000_000.25)
    writer = RunWriter(tmp_path)
    for step in (0, 1, 1000, 200_000):
        writer.scalar("/metric/valid/interpolation", step / 3)
        writer.scalar("metric/test/extrapolation", 1e300 if step else math.nan)
        writer.scalar("loss/train/critation", 0.0)
        writer.commit(step)
    weights = np.array([[0.5, -1.25], [3.0, 1e-13]])
    writer.scalar("epoch", 7)
    writer.tensor("/network/layer_1/nac/W", weights)
    writer.text("reinit", "β", rooted=False)
    writer.histogram("/network/layer_1/nac/W", weights)
    writer.histogram("/network/layer_1/nac/W", np.array([math.nan, -1e25, 0.0, 1e300]))
    writer.summary("/network/layer_1/nac/W/grad", weights)
    writer.commit(-1)
    writer.close()
    data = writer.events.path.read_bytes()
    assert len(data) == 35401
    assert hashlib.sha256(data).hexdigest() == (
        "5ccf3a5cbb3be7b86a9561d43a7e55235208f851ae99b308311ca79627fda6c1"
    )


def scalar_event(step):
    return message(1.0, step, [("a", step)])


def steps(path):
    return [event.step for event in EventFileReader(path)]


def test_continuing_at_a_position_drops_what_came_later(tmp_path):
    events = EventFile.create_in(tmp_path)
    for step in (0, 1, 2):
        events.add(scalar_event(step))
    events.flush()
    position = events.position
    for step in (3, 4):
        events.add(scalar_event(step))
    events.flush()
    continued = EventFile(events.path, position=position)
    assert continued.position == position
    assert steps(events.path) == [0, 1, 2]
    continued.add(scalar_event(3))
    continued.close()
    assert steps(events.path) == [0, 1, 2, 3]
    with pytest.raises(UsageError, match="fewer than the 10000 at the checkpoint"):
        EventFile(events.path, position=10_000)
    assert events.path.stat().st_size == continued.position
    with pytest.raises(FileExistsError):
        EventFile(events.path)


def test_a_flush_that_failed_half_way_is_written_again(tmp_path):
    events = EventFile.create_in(tmp_path)
    events.add(scalar_event(1))
    with events.path.open("ab") as file:
        file.write(b"half a record that a full disk left behind, then an error" * 3)
    for step in range(2, 20):
        events.add(scalar_event(step))
    events.close()
    assert steps(events.path) == list(range(1, 20))


def read(path):
    reader = EventFileReader(path)
    return list(reader), reader.problem


def message(wall_time, step, values):
    """A serialised event of (tag, number or text) pairs."""
    event = event_pb2.Event(wall_time=wall_time, step=step)
    for tag, value in values:
        if isinstance(value, str):
            event.summary.MergeFrom(text(tag.removesuffix("/text_summary"), value))
        else:
            event.summary.value.add(tag=tag, simple_value=value)
    return event.SerializeToString()


def as_written(payload):
    """The event in a payload, read by protobuf value by value."""
    event = event_pb2.Event.FromString(payload)
    pairs = [
        (v.tag, v.simple_value if v.HasField("simple_value") else v.tensor.string_val[0])
        for v in event.summary.value
    ]
    return Event(event.wall_time, event.step, *map(tuple, zip(*pairs, strict=True)))


@pytest.fixture
def small(tmp_path):
    """A file of five events with one, two and three values, and the byte after each record."""
    events = EventFile.create_in(tmp_path)
    ends = [events.position]
    for step, tags in enumerate(
        (("a",), ("a", "b"), ("a",), ("a", "/W/text_summary", "b"), ("c",))
    ):
        values = [(tag, "<pre>[1.]</pre>" if "W" in tag else step) for tag in tags]
        events.add(message(step + 0.25, step * 1000, values))
        events.flush()
        ends.append(events.position)
    return events.path, ends


def test_truncation_at_every_byte_keeps_the_whole_records(small):
    path, ends = small
    data = path.read_bytes()
    whole, _ = read(path)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        events, problem = read(path)
        complete = sum(end <= size for end in ends)
        assert events == whole[: max(complete - 1, 0)], size
        if size == 0:
            assert problem == "empty file"
        elif size in ends:
            assert problem is None
        else:
            assert problem == f"partial record at byte {max([0, *(e for e in ends if e < size)])}"


def test_a_flipped_bit_anywhere_ends_the_reading_there(small):
    path, ends = small
    data = bytearray(path.read_bytes())
    whole, _ = read(path)
    for position in range(len(data)):
        data[position] ^= 0x10
        path.write_bytes(data)
        data[position] ^= 0x10
        events, problem = read(path)
        intact = sum(end <= position for end in ends)
        assert events == whole[: max(intact - 1, 0)], position
        assert problem is not None, position


@pytest.mark.parametrize(
    "payload",
    [
        *(b"\x09short", b"\x2a\xff", b"\xff" * 20, b"\x0c" * 30),
        *(b"\x80", b"\x80" * 11, b"\x0a\x05ab", b"\x09\x00", b"\x0b", b""),
    ],
)
def test_an_intact_record_that_is_no_event_ends_the_reading(small, payload):
    path, ends = small
    with path.open("ab") as file:
        file.write(record(payload) + record(message(1.0, 1, [])))
    events, problem = read(path)
    assert len(events) == 5
    assert problem.startswith(f"bad {'event' if payload else 'record'} at byte {ends[-1]}")


def random_events():
    random = np.random.default_rng(0)
    for _ in range(300):
        tags = ["t" * int(random.integers(1, 200)) for _ in range(random.integers(1, 5))]
        step = int(random.integers(0, 1 << 40))
        yield message(random.random(), step, [(t, random.normal()) for t in tags])


def different_events_of_one_length():
    """More tags of one length than layouts are kept, steps of every length, texts between."""
    random = np.random.default_rng(1)
    for step in [0, -1, *(1 << k for k in range(63)), *((1 << k) - 1 for k in range(1, 64))]:
        for letter in random.permutation(list("abcdefghijklmnop")):
            values = [(f"{letter}/{place}", random.normal()) for place in range(3)]
            if letter in "abc":
                values[1] = (f"{letter}/text_summary", f"<pre>[{letter}]</pre>")
            yield message(random.random(), int(step), values)


def extreme_numbers():
    for number in [0.0, -0.0, math.inf, -math.inf, 3.4e38, 1e-45, 0.1]:
        for wall_time in (0.0, 1.0, -1.0, math.inf, 1e300):
            yield message(wall_time, 5, [("a", number)])


@pytest.mark.parametrize(
    "payloads", [random_events, different_events_of_one_length, extreme_numbers]
)
def test_same_values_as_protobuf(tmp_path, payloads):
    events, payloads = EventFile.create_in(tmp_path), list(payloads())
    for payload in payloads:
        events.add(payload)
    events.close()
    assert read(events.path) == ([as_written(payload) for payload in payloads], None)


def test_a_bad_event_among_many_of_its_length(tmp_path):
    good = [message(1.0, step, [("tag", step)]) for step in range(1, 100)]
    events = EventFile.create_in(tmp_path)
    for payload in good[:50]:
        events.add(payload)
    events.flush()
    position = events.position
    for payload in (b"\x0c" * len(good[0]), *good[50:]):
        events.add(payload)
    events.close()
    found, problem = read(events.path)
    assert found == [as_written(payload) for payload in good[:50]]
    assert problem.startswith(f"bad event at byte {position}: ")
