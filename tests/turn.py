"""Tests that take long and have their turn in some weeks.

In the environment, RETRAIN=12 chooses the tests of turn 12, and RETRAIN=all all of them.
"""

import os
import time

import pytest

RETRAIN = os.environ.get("RETRAIN", "")
TURN = int(RETRAIN) if RETRAIN.isdecimal() else int(time.time() // (7 * 24 * 3600))


def weekly(place: int, of: int = 3) -> pytest.MarkDecorator:
    """Skip a test but in every third week, those of neighbouring places in different ones."""
    is_its_turn = RETRAIN == "all" or (TURN + place) % of == 0
    return pytest.mark.skipif(not is_its_turn, reason="its turn is in another week: RETRAIN=all")
