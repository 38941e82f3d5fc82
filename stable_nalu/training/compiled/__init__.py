"""Training iterations and evaluations of many runs as compiled code."""
