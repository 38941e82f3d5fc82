"""One command from an experiment's key to its figure: train, export, summarise, plot, compare."""
