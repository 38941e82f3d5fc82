"""Experiments with data of their own: one loop for all, and a task that says what differs."""
