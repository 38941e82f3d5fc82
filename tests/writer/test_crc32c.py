"""CRC-32C against the vectors of RFC 3720, and against a bit-by-bit loop."""

import numpy as np
import pytest

from stable_nalu.crc32c import BLOCK, crc32c, crc32c_of_spans, mask

ISCSI_READ = bytes.fromhex(
    "01c00000000000000000000000000000"
    "14000000000004000000001400000018"
    "28000000000000000200000000000000"
)


def bitwise(data):
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
def test_published_vectors(data, expected):
    assert crc32c(data) == expected


@pytest.mark.parametrize(
    "length", [1, 3, 4, 23, 24, 25, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 7]
)
def test_every_length_agrees_with_the_bitwise_loop(length):
    data = np.random.default_rng(length).bytes(length)
    assert crc32c(data) == bitwise(data)


def test_spans_are_checksummed_one_by_one():
    lengths = [1, 3, 4, 60, BLOCK, BLOCK + 1, 5000, 17, 2]
    data = np.random.default_rng(0).bytes(sum(lengths) + 16 * len(lengths))
    starts, position = [], 12
    for length in lengths:
        starts.append(position)
        position += length + 16
    starts = np.array(starts)
    ends = starts + lengths
    found = crc32c_of_spans(np.frombuffer(data, dtype=np.uint8), starts, ends)
    assert found.tolist() == [bitwise(data[a:b]) for a, b in zip(starts, ends, strict=True)]


def test_no_spans():
    none = np.empty(0, dtype=np.intp)
    assert crc32c_of_spans(np.zeros(4, dtype=np.uint8), none, none).size == 0


def test_mask_rotates_by_15_and_adds():
    # 0xe3069283 rotated right by 15 bits is 0x2507c60d; plus 0xa282ead8.
    assert mask(0xE3069283) == 0xC78AB0E5
    assert mask(np.array([0xE3069283], dtype=np.uint32)).tolist() == [0xC78AB0E5]
