"""Layers against published ones: the challenge and the board; and units against other models."""
