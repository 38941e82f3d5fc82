"""Log every run to MLflow, in a file of this folder: `mlflow ui --backend-store-uri` shows it.

pip install mlflow
python3 examples/log_to_mlflow.py
"""

from mlflow.tracking import MlflowClient

import stable_nalu as sn

STEPS = 1000


class ToMlflow:
    """A run of MLflow for each run that trains."""

    def __init__(self, uri, experiment):
        self.client = MlflowClient(uri)
        found = self.client.get_experiment_by_name(experiment)
        self.experiment = (
            found.experiment_id if found else self.client.create_experiment(experiment)
        )
        self.runs = {}

    def log(self, run, step, metrics):
        if run not in self.runs:
            made = self.client.create_run(self.experiment, run_name=run)
            self.runs[run] = made.info.run_id
        for tag, value in metrics.items():
            self.client.log_metric(self.runs[run], tag, value, step=step)

    def on_end(self, run, outcome):
        if run in self.runs:
            self.client.set_tag(self.runs[run], "solved", outcome.solved)
            self.client.set_terminated(self.runs.pop(run))


how = {"operation": "mul", "learning_rate": 0.05, "max_iterations": STEPS, "log_interval": 10}
logger = ToMlflow("sqlite:///mlflow.db", "units")
print(sn.train("single_layer", layer="NMU", seed=range(2), logger=logger, **how))
