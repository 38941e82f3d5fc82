"""Files of trained models: checkpoints to resume from and best models."""
