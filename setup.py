"""Installation. Ranges are loose; constraints.txt pins one environment that is known to work."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent


def read_version() -> str:
    """Return the version that the package states."""
    text = (ROOT / "stable_nalu" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if match is None:
        raise RuntimeError("stable_nalu/__init__.py states no __version__")
    return match[1]


DEV = ["pytest>=8", "pytest-xdist>=3.5", "ruff>=0.9", "pyright>=1.1.390", "tensorboard>=2.16"]

setup(
    name="stable-nalu",
    version=read_version(),
    description="Neural Arithmetic Logic Modules, and the experiments that study them",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="stable-nalu contributors",
    license="MIT",
    packages=find_packages(include=["stable_nalu", "stable_nalu.*"]),
    package_data={
        "stable_nalu.catalogue": ["published_results/*.csv", "published_seeds.csv"],
        "stable_nalu": ["*.cpp", "py.typed"],
    },
    python_requires=">=3.11",
    install_requires=[
        "torch>=2.6",
        "torchvision>=0.21",
        "numpy>=1.26",
        "scipy>=1.11",
        "pandas>=2.1",
        "tensorboardX>=2.6",
        "google-crc32c>=1.5",
        "tqdm>=4.66",
        "matplotlib>=3.8",
        "scikit-learn>=1.4",
        "markdown-it-py>=3.0",
        "threadpoolctl>=3.1",
    ],
    extras_require={"dev": DEV},
)
