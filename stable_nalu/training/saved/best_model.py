"""`--save-best-model`: the weights with the lowest validation error of a run."""

from __future__ import annotations

import torch

from stable_nalu.ensemble import run_state
from stable_nalu.machine import save_root

from ..arithmetic.session import Session
from ..arithmetic.trainer import LogPoint
from .checkpoint import model_file, save_torch, write_atomically

BEST_MODELS = "lowest_interp_model"
BEST_PARAMETERS = "lowest_interp_params"


class BestModel:
    """Saves a run's weights at each log point that has a lower validation error than before."""

    def __init__(self, session: Session):
        self.session = session

    def update(self, point: LogPoint) -> None:
        """Call at a log point, before the update."""
        session = self.session
        for run, error in enumerate(point.errors.interpolation.tolist()):
            if not error < session.best[run]:
                continue
            session.best[run] = error
            state = run_state(session.model.state_dict(), run if session.stacked else None)
            name = session.names[run]
            save_torch(model_file(save_root() / BEST_MODELS, name), state)
            write_atomically(
                model_file(save_root() / BEST_PARAMETERS, name, ".txt"),
                lambda path, state=state: path.write_text(self._text(point.iteration, state)),
            )

    def _text(self, iteration: int, state: dict[str, torch.Tensor]) -> str:
        trainable = [n for n, p in self.session.model.named_parameters() if p.requires_grad]
        rows = [f"epoch: {iteration}\n"]
        rows += [f"{name}\n{state[name]}\n" for name in trainable]
        return "".join(rows) + "\n"
