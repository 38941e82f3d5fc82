"""Training on arithmetic tasks: models, data, evaluation and the loop over iterations."""
