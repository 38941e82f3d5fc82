"""Worlds that a player acts in: many at once as tensors, and one with the methods of Gymnasium.

An environment owns no generator of the program; it imports nothing of training or networks.
"""
