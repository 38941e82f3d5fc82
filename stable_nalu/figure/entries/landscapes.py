"""Loss over the two weights of a chain of an adding and a multiplying layer: computed."""

from __future__ import annotations

from stable_nalu.papers import MISTRY_2022_DIVISION

from ..entry import Entry
from ..kinds import Landscape

_UNITS = {
    "nac-mul": "NAC•",
    "nmu": "NMU",
    "nru": "NRU",
    "nru-tanh": "NRU with tanh gates",
}

ENTRIES = (
    Entry(
        "loss_landscape",
        MISTRY_2022_DIVISION,
        "Figure 9",
        "Landscape of the root mean squared error: NAC•, NMU, NRU",
        tuple(
            Landscape(stem=f"rmse-{unit}", loss=unit, epsilon=0.1, title=f"{text}, ε = 0.1")
            for unit, text in _UNITS.items()
        ),
    ),
)
