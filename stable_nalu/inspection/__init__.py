"""Looking at trained models: what the scripts that train them write under `--evaluate`."""
