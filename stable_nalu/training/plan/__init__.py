"""Plans of runs: stacks, the saved states they continue from, workers and interruption."""
