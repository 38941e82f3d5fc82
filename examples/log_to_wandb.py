"""Log every run to Weights & Biases, offline: `wandb sync wandb/offline-run-*` uploads them later.

pip install wandb
python3 examples/log_to_wandb.py
"""

import wandb

import stable_nalu as sn

STEPS = 1000


class ToWandb:
    """A run of W&B for each run that trains; several are open at once."""

    def __init__(self, project, **init):
        self.init = {"project": project, "mode": "offline", "reinit": "create_new", **init}
        self.runs = {}

    def log(self, run, step, metrics):
        if run not in self.runs:
            self.runs[run] = wandb.init(name=run, **self.init)
        self.runs[run].log(metrics, step=step)

    def on_end(self, run, outcome):
        if run in self.runs:
            own = self.runs.pop(run)
            own.summary.update({"solved": outcome.solved, "test_error": outcome.test_error})
            own.finish()


how = {"operation": "mul", "learning_rate": 0.05, "max_iterations": STEPS, "log_interval": 10}
print(sn.train("single_layer", layer="NMU", seed=range(2), logger=ToWandb("units"), **how))
