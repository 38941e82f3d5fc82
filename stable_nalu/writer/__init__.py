"""Event files out: the file, the folder of a run with its record, and the values per step.

The messages are those of tensorboardX, so that every reader of event files understands them.
"""

from .event_file import EventFile, RunWriter, scalar_events
from .run_folder import ResumePoint, RunFolder, RunRecord

__all__ = ["EventFile", "ResumePoint", "RunFolder", "RunRecord", "RunWriter", "scalar_events"]
