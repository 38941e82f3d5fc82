"""CRC-32C (Castagnoli, RFC 3720 appendix B.4) and the masked form that event files store.

The register after a message is linear over GF(2) in the bits of the message, once the initial
value 0xffffffff has been moved into its first four bytes. So the checksum is the exclusive or of
one table entry per byte, chosen by the byte and its distance to the end, which NumPy computes for
many bytes at once.
"""

import functools

import numpy as np

POLYNOMIAL = 0x82F63B78
BLOCK = 1024
"""Bytes that one table of distances covers."""

_ONES = 0xFFFFFFFF
_SHORT = 24


@functools.cache
def _byte_table() -> tuple[int, ...]:
    """Register after one byte, from a zero register."""

    def entry(byte: int) -> int:
        for _ in range(8):
            byte = byte >> 1 ^ POLYNOMIAL if byte & 1 else byte >> 1
        return byte

    return tuple(entry(byte) for byte in range(256))


@functools.cache
def _distance_table() -> np.ndarray:
    """`table[d * 256 + b]`: the register after byte b and d zero bytes, shape (BLOCK * 256,)."""
    first = np.array(_byte_table(), dtype=np.uint32)
    table = np.empty((BLOCK, 256), dtype=np.uint32)
    table[0] = first
    for distance in range(1, BLOCK):
        previous = table[distance - 1]
        table[distance] = previous >> np.uint32(8) ^ first[previous & np.uint32(0xFF)]
    return table.reshape(-1)


@functools.cache
def _block_distances() -> np.ndarray:
    """Table offsets of the bytes of a full block."""
    return np.arange(BLOCK - 1, -1, -1) * 256


def crc32c(data: bytes) -> int:
    """CRC-32C of `data`."""
    if len(data) < _SHORT:
        table, register = _byte_table(), _ONES
        for byte in data:
            register = register >> 8 ^ table[(register ^ byte) & 0xFF]
        return register ^ _ONES
    message = np.frombuffer(data, dtype=np.uint8).astype(np.intp)
    message[:4] ^= 0xFF
    table, distances = _distance_table(), _block_distances()
    first = len(data) % BLOCK
    register = int(np.bitwise_xor.reduce(table[message[:first] + distances[BLOCK - first :]]))
    for start in range(first, len(data), BLOCK):
        block = np.bitwise_xor.reduce(table[message[start : start + BLOCK] + distances])
        register = _append_zero_block(register) ^ int(block)
    return register ^ _ONES


def _append_zero_block(register: int) -> int:
    """The register after BLOCK zero bytes: its four bytes act as the first bytes of the block."""
    table = _distance_table()
    value = 0
    for position in range(4):
        byte = register >> 8 * position & 0xFF
        value ^= int(table[(BLOCK - 1 - position) * 256 + byte])
    return value


def crc32c_of_spans(data: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """CRC-32C of many spans of one byte array, as uint32 in the order given.

    data: uint8; spans `[starts[i], ends[i])` are in ascending order, with at least one byte in
    each and between them.
    """
    if not len(starts):
        return np.empty(0, dtype=np.uint32)
    lengths = ends - starts
    table = _distance_table()
    bounds = np.stack((starts, ends), axis=1).reshape(-1)[:-1] - starts[0]
    message = data[starts[0] : ends[-1]]
    # Distance of every byte to the end of its span. Bytes between spans get a negative one, bytes
    # of long spans one beyond the table; both wrap to entries that are not used.
    reach = np.diff(starts, append=ends[-1])
    distances = np.repeat(ends - 1 - starts[0], reach) - np.arange(len(message))
    entries = table.take(distances * 256 + message, mode="wrap")
    checksums = np.bitwise_xor.reduceat(entries, bounds)[::2]
    for position in range(4):
        # The initial value 0xffffffff, as the first four bytes.
        checksums ^= table.take((lengths - 1 - position) * 256 + 0xFF, mode="wrap")
    checksums ^= np.uint32(_ONES)
    for index in np.flatnonzero((lengths < 4) | (lengths > BLOCK)):
        checksums[index] = crc32c(data[starts[index] : ends[index]].tobytes())
    return checksums


def mask(checksum):
    """The stored form: rotated right by 15 bits plus a constant; an int or a uint32 array."""
    if isinstance(checksum, np.ndarray):
        rotated = checksum >> np.uint32(15) | checksum << np.uint32(17)
        return rotated + np.uint32(0xA282EAD8)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & _ONES
