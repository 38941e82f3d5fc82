"""Event files out: the codec, the folder of a run, and the values logged per step.

Needs no TensorBoard package; what is written reads the same in all of them.
"""

from .event_file import EventFile
from .run_folder import ResumePoint, RunFolder
from .run_record import RunRecord
from .run_writer import RunWriter

__all__ = ["EventFile", "ResumePoint", "RunFolder", "RunRecord", "RunWriter"]
