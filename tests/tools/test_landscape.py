"""The kept planes of weights with the paths of failed runs."""

import numpy as np
import pandas as pd

from stable_nalu.result.stored import DATA
from tools import landscape


def test_paths_end_in_the_middle_and_solved_seeds_are_lower():
    table = pd.read_csv(DATA / landscape.FILE)
    for _, own in table.groupby("failure"):
        path, plane = own[own["part"] == "path"], own[own["part"] == "plane"]
        assert (path[["u", "v"]].iloc[-1] == 0).all()
        assert abs(path["v"].iloc[0]) < 1e-3 * path["u"].iloc[0]
        assert len(plane) == landscape.GRID**2
        solved = own.loc[own["part"] == "solved", "error"]
        assert (solved < path["error"].iloc[-1]).all()


def test_a_plane_holds_start_end_and_goal():
    path, goal = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0, 5.0])
    axes = landscape._plane(path, goal)
    assert np.allclose(axes @ axes.T, np.eye(2))
    for point in (*path, goal):
        place = (point - path[-1]) @ axes.T
        assert np.allclose(path[-1] + place @ axes, point)
