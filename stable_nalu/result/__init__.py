"""From an experiment's key to its figure: trained in shards and jobs, exported, judged, compared.

Scheduling is left to the batch system; without one, processes of this machine share the shards.
"""
