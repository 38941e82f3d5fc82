"""The columns of exported arithmetic runs."""

EXPORTED = (
    "name",
    "metric.valid.interpolation",
    "step",
    "wall.time",
    "metric.test.extrapolation",
    "sparse.error.max",
)
