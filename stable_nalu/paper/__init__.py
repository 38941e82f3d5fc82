"""Published experiments as data: what was run, on which ranges."""
