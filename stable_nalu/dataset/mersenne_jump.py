"""Far jumps of the Mersenne Twister MT19937, in the time of a few thousand draws.

A run on 100 inputs takes 25,600 words an iteration, so that one that resumes after four million
iterations has 10^11 words behind it: minutes to draw again, and an instant to jump over. The
generator is linear over GF(2). With T the step by one word and p its characteristic polynomial,
p(T) = 0, hence T^n = r(T) for r = x^n mod p, which has fewer than 19,937 terms.

M. Matsumoto and T. Nishimura, "Mersenne Twister", 1998, gives the recurrence and p;
H. Haramoto and others, "Efficient jump ahead for F2-linear random number generators", 2008, the
use of r. A polynomial is an int here, whose bit k is the coefficient of x^k.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

WORDS = 624
"""Words in the state: the recurrence makes word k of words k - 624, k - 623 and k - 227."""
MIDDLE = 397
LOWER_BITS = 31
"""Of the oldest word, so many bits do not enter the next one."""
TWIST = 0x9908B0DF
DEGREE = WORDS * 32 - LOWER_BITS
XORED_AT_ONCE = 1024
"""Windows of the sequence that are gathered in one piece of memory, 2.5 MB."""


def jumped(key: np.ndarray, position: int, words: int) -> tuple[np.ndarray, int]:
    """Return state and position after `words` more words, as drawing them one by one leaves them.

    key: the state, 624 words of 32 bits, of which `position` are used up.
    """
    used = position + words
    # A state is used up before the next one is made.
    steps = WORDS * max(0, (used - 1) // WORDS)
    if not steps:
        return key.copy(), used
    # Leave out the oldest word, of which nothing but the highest bit follows the recurrence.
    sequence = _sequence(key)[1:]
    windows = np.lib.stride_tricks.sliding_window_view(sequence, WORDS)
    terms = np.flatnonzero(_bits(_power_of_x(steps - 1)))
    state = np.zeros(WORDS, np.uint32)
    for start in range(0, len(terms), XORED_AT_ONCE):
        chosen = windows[terms[start : start + XORED_AT_ONCE]]
        state ^= np.bitwise_xor.reduce(chosen, axis=0)
    return state, used - steps


def _sequence(key: np.ndarray) -> np.ndarray:
    """Return the words of a state, and those that follow: as many as a polynomial has terms."""
    generator = np.random.MT19937(0)
    generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS}}
    states = [key]
    for _ in range(-(-DEGREE // WORDS)):
        generator.random_raw(WORDS, output=False)
        states.append(generator.state["state"]["key"])
    return np.concatenate(states)


@lru_cache(maxsize=8)
def _power_of_x(exponent: int) -> int:
    """Return x^exponent mod p."""
    power = 1
    for digit in f"{exponent:b}":
        power = _remainder(_squared(power) << int(digit))
    return power


def _squared(polynomial: int) -> int:
    """Return the square, whose mixed terms cancel each other: zeros between the coefficients."""
    spread = np.zeros((_bits(polynomial).size, 2), np.uint8)
    spread[:, 0] = _bits(polynomial)
    return int.from_bytes(np.packbits(spread, bitorder="little").tobytes(), "little")


def _bits(polynomial: int) -> np.ndarray:
    """Return the coefficients from that of x^0 on, zeros at the end included."""
    data = polynomial.to_bytes(polynomial.bit_length() // 8 + 1, "little")
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")


def _remainder(polynomial: int) -> int:
    """Return the polynomial mod p, replacing x^DEGREE by the other terms of p."""
    low = (1 << DEGREE) - 1
    while high := polynomial >> DEGREE:
        polynomial &= low
        for exponent in _lower_terms():
            polynomial ^= high << exponent
    return polynomial


@cache
def _lower_terms() -> list[int]:
    """Return the exponents of p but the highest one.

    p = u v^31 + sum of a_k u v^(30 - k) for k < 31 + a_31, with u = x^624 + x^397,
    v = x^623 + x^396 and a_k the bits of the twist.
    """
    polynomial = 1
    # By Horner's rule in v.
    for k in range(LOWER_BITS):
        polynomial = polynomial << WORDS - 1 ^ polynomial << MIDDLE - 1 ^ (TWIST >> k & 1)
    polynomial = polynomial << WORDS ^ polynomial << MIDDLE ^ (TWIST >> LOWER_BITS & 1)
    return np.flatnonzero(_bits(polynomial))[:-1].tolist()
