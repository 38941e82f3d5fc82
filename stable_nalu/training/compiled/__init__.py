"""Policy of the recurrent scripts."""
