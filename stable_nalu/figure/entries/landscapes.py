"""Loss over the two weights of a chain of an adding and a multiplying layer: computed."""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020, MISTRY_2022_DIVISION

from ..entry import Entry
from ..kinds import Landscape

_UNITS = {
    "nac-mul": "NAC•",
    "nmu": "NMU",
    "nru": "NRU",
    "nru-tanh": "NRU with tanh gates",
}


def _rmse() -> tuple[Landscape, ...]:
    return tuple(
        Landscape(stem=f"rmse-{unit}", loss=unit, epsilon=0.1, title=f"{text}, ε = 0.1")
        for unit, text in _UNITS.items()
    )


def _squared() -> tuple[Landscape, ...]:
    nac = tuple(
        Landscape(
            stem=f"nac-mul-eps-{name}",
            loss="nac-mul",
            epsilon=epsilon,
            shape="squared",
            title=f"NAC•, ε = {epsilon:g}",
        )
        for name, epsilon in (("1em7", 1e-7), ("1em1", 1e-1), ("1", 1.0))
    )
    nmu = Landscape(
        stem="nac-mul-nmu", loss="nmu", epsilon=0.0, shape="squared", w2=(0.0, 1.0), title="NMU"
    )
    return (*nac, nmu)


ENTRIES = (
    Entry(
        "loss_landscape",
        MISTRY_2022_DIVISION,
        "Figure 9",
        "Landscape of the root mean squared error: NAC•, NMU, NRU",
        _rmse(),
    ),
    Entry(
        "nac-mul-and-mnac-loss-curvature",
        MADSEN_2020,
        "",
        "Landscape of the squared error: NAC• with three epsilons, NMU",
        _squared(),
    ),
)
