"""Experiments as jobs: shards of runs, what is left of them, job files, and who runs those.

Scheduling is left to the batch system; without one, processes of this machine share the shards.
"""
