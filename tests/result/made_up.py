"""Kept results that nobody measured: outcomes drawn from a generator, for tests of the page."""

import numpy as np
import pandas as pd

from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.stored import Session, add
from stable_nalu.statistics.setups import expand_name

SESSION = Session("2026-01-01T00:00:00+00:00", 3, 600, 12.5, 7.0, 2, "python 3.11, torch 2", "abc")


def write(key, data, seeds, share=0.7):
    """A table of that many seeds of every model of an experiment; returns it."""
    experiment = EXPERIMENTS[key]
    rng = np.random.default_rng(0)
    parts = []
    for model in experiment.models:
        runs = expected_runs(model, seeds)
        options = pd.DataFrame([expand_name(run.leaf) for run in runs])
        options["model"] = model.key
        options["iterations"] = [run.config.max_iterations for run in runs]
        parts.append(options)
    table = pd.concat(parts, ignore_index=True)
    size = len(table)
    solved = rng.random(size) < share
    table["threshold"] = 1e-5
    table["solved"] = solved.astype(int)
    steps = np.round(rng.gamma(4, 5, size) + 1) * 1000
    table["extrapolation.step.solved"] = np.where(solved, steps, np.nan)
    table["sparse.error.max"] = rng.random(size) * 1e-3
    table["extrapolation.last"] = np.where(solved, 1e-8, 1.0)
    table["diverged"] = 0
    return add(experiment, table, [SESSION], data)
