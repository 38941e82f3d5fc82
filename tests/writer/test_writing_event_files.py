"""Checksums, files as other readers see them, and continuing a file."""

import hashlib
import math
import time

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from stable_nalu.errors import UsageError
from stable_nalu.writer import EventFile, RunWriter
from stable_nalu.writer.event_file import masked_checksum
from stable_nalu.writer.event_reader import EventFileReader

ISCSI_READ = bytes.fromhex(
    "01c00000000000000000000000000000"
    "14000000000004000000001400000018"
    "28000000000000000200000000000000"
)


def mask(checksum):
    """The stored form, by string operations: rotated right by 15 bits, plus a constant."""
    bits = f"{checksum:032b}"
    return (int(bits[-15:] + bits[:-15], 2) + 0xA282EAD8) % 2**32


def bitwise(data):
    """CRC-32C, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ 0x82F63B78 * (register & 1)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (ISCSI_READ, 0xD9963A56),
    ],
)
def test_checksums_are_those_of_rfc_3720(data, expected):
    assert bitwise(data) == expected
    assert masked_checksum(data) == mask(expected)
    # 0xe3069283 rotated right by 15 bits is 0x2507c60d; plus 0xa282ead8.
    assert mask(0xE3069283) == 0xC78AB0E5


@pytest.mark.parametrize("length", [1, 3, 4, 23, 24, 25, 1023, 1024, 1025, 2055])
def test_every_length_agrees_with_the_bitwise_loop(length):
    data = np.random.default_rng(length).bytes(length)
    assert masked_checksum(data) == mask(bitwise(data))


def write_run(folder):
    writer = RunWriter(folder)
    for step in (0, 1000, 200_000):
        writer.scalar("/metric/valid/interpolation", step + 0.5)
        writer.scalar("/metric/test/extrapolation", math.inf)
        writer.tensor("/network/layer_1/nac/W", np.full((1, 2), step))
        writer.histogram("/network/layer_1/nac/W", np.arange(3.0))
        writer.commit(step)
    writer.close()
    return next(folder.iterdir())


def test_tensorboard_reads_what_was_written(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    write_run(tmp_path)
    log = accumulator.EventAccumulator(str(tmp_path)).Reload()
    tags = log.Tags()
    assert tags["scalars"] == ["metric/valid/interpolation", "metric/test/extrapolation"]
    assert tags["histograms"] == ["network/layer_1/nac/W"]
    assert tags["tensors"] == ["/network/layer_1/nac/W/text_summary"]
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
    event = Event(wall_time=1.0, step=step)
    event.summary.value.add(tag="a", simple_value=step)
    return event.SerializeToString()


def steps(path):
    return [event.step for event in EventFileReader(path)]


def test_events_reach_the_file_at_flush_or_when_many(tmp_path):
    events = EventFile.create_in(tmp_path)
    events.add(scalar_event(1))
    assert steps(events.path) == []
    events.flush()
    assert steps(events.path) == [1]
    for step in range(5000):
        events.add(scalar_event(step))
    assert len(steps(events.path)) > 1000
    events.close()
    assert steps(events.path) == [1, *range(5000)]
    with pytest.raises(ValueError, match="closed"):
        events.add(scalar_event(0))


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


def test_a_file_shorter_than_the_checkpoint_is_refused(tmp_path):
    events = EventFile.create_in(tmp_path)
    with pytest.raises(UsageError, match="fewer than the 10000 at the checkpoint"):
        EventFile(events.path, position=10_000)
    assert events.path.stat().st_size == events.position


def test_a_flush_that_failed_half_way_is_written_again(tmp_path):
    events = EventFile.create_in(tmp_path)
    events.add(scalar_event(1))
    with events.path.open("ab") as file:
        file.write(b"half a record that a full disk left behind, then an error" * 3)
    for step in range(2, 20):
        events.add(scalar_event(step))
    events.close()
    assert steps(events.path) == list(range(1, 20))


def test_existing_files_are_never_overwritten(tmp_path):
    events = EventFile.create_in(tmp_path)
    with pytest.raises(FileExistsError):
        EventFile(events.path)
