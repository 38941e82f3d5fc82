"""Let Optuna search for a learning rate, and prune trials that are worse than the others.

pip install optuna
python3 examples/prune.py
"""

import optuna

import stable_nalu as sn

STEPS = 1000


def objective(trial):
    rate = trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True)
    how = {"operation": "mul", "learning_rate": rate, "max_iterations": STEPS}
    how |= {"log_interval": 10, "callbacks": [sn.callbacks.Optuna(trial)]}
    # A trial that is pruned ends here, by optuna.TrialPruned.
    (run,) = sn.train("single_layer", layer="NMU", name_prefix=f"trial-{trial.number}", **how)
    return run.outcome["test_error"]


pruner = optuna.pruners.MedianPruner(n_startup_trials=2)
sampler = optuna.samplers.RandomSampler(seed=0)
study = optuna.create_study(sampler=sampler, pruner=pruner)
study.optimize(objective, n_trials=8)
for trial in study.trials:
    print(trial.number, trial.state.name, f"{trial.params['learning_rate']:.4f}", trial.value)
