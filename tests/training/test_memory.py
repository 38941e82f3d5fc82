"""What an iteration frees stays with the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = """
import resource, torch
from stable_nalu.training.memory import keep_freed_memory
{setting}
def iteration():
    parts = [torch.ones(1 << 20) for _ in range(8)]
for _ in range(3): iteration()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10): iteration()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(setting):
    words = [sys.executable, "-c", FAULTS.format(setting=setting)]
    # By itself the C library starts to keep memory at some time that depends on addresses.
    handing_back = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    done = subprocess.run(
        words, cwd=ROOT, env=handing_back, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_no_page_is_asked_for_twice():
    assert faults("keep_freed_memory()") < faults("") / 20


def test_another_c_library(monkeypatch):
    from stable_nalu.training import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed_memory.__wrapped__() is None
