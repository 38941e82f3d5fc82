"""The entrances for Python programs: layers listed; runs trained, read, summarised and drawn."""
