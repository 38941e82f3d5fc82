"""Libraries of the engine, compiled by the machine's C++ compiler."""

import pytest

from stable_nalu.engine.build import library
from stable_nalu.machine import code_cache

TEXT = """
#ifndef NUMBER
#define NUMBER 1
#endif
extern "C" int number() { return NUMBER; }
"""


@pytest.fixture(autouse=True)
def an_empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code_cache.cache_clear()
    library.cache_clear()
    yield
    library.cache_clear()
    code_cache.cache_clear()


def test_further_flags_of_the_compiler_make_another_library(monkeypatch):
    assert library(TEXT).number() == 1
    library.cache_clear()
    monkeypatch.setenv("STABLE_NALU_CXXFLAGS", "-DNUMBER=2 -g0")
    assert library(TEXT).number() == 2
    library.cache_clear()
    monkeypatch.delenv("STABLE_NALU_CXXFLAGS")
    assert library(TEXT).number() == 1
