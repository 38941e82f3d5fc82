"""The one training loop behind every arithmetic script, for one run or many at once."""
