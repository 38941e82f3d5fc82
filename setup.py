"""Installation. Ranges are loose; constraints.txt pins one environment that is known to work."""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
COPIED = (
    "exp_setups.csv",
    "function_task_static_mse_expectation.csv",
    "docs/reproduction/*.csv",
    "docs/reproduction/notes.md",
    "docs/reproduction/datapackage.json",
    "docs/reproduction/data/**/*.csv",
    "tools/*.py",
    "tools/templates/*",
)
"""Files outside of the package that commands use: those of its copy are found by
`stable_nalu.base.files.data_file`."""


class BuildWithCopies(build_py):
    """Build the package with copies of the files of the checkout that its commands read."""

    def run(self) -> None:
        """Copy the package and, unless it stays in the checkout, those files."""
        super().run()
        for path in [] if self.editable_mode else [p for name in COPIED for p in ROOT.glob(name)]:
            copy = Path(self.build_lib, "stable_nalu", "copies", path.relative_to(ROOT))
            self.mkpath(str(copy.parent))
            self.copy_file(str(path), str(copy))


def read_version() -> str:
    """Return the version that the package states."""
    text = (ROOT / "stable_nalu" / "base" / "files.py").read_text(encoding="utf-8")
    match = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    if match is None:
        raise RuntimeError("stable_nalu/base/files.py states no VERSION")
    return match[1]


DEV = [
    "ipykernel>=6.29",
    "nbclient>=0.10",
    "pyright>=1.1.390",
    "pytest-xdist>=3.5",
    "pytest>=8",
    "ruff>=0.9",
]

setup(
    name="stable-nalu",
    version=read_version(),
    description="Neural Arithmetic Logic Modules, and the experiments that study them",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="stable-nalu contributors",
    license="MIT",
    packages=find_packages(include=["stable_nalu", "stable_nalu.*", "torchlanes"]),
    package_data={
        "stable_nalu.paper": [
            "published_results/*.csv",
            "published_measures/*.csv",
            "*.csv",
            "*.png",
        ],
        "stable_nalu.figure": ["*.mplstyle"],
        "stable_nalu.layer": ["*.csv"],
        "stable_nalu.bench": ["*.csv", "*.md", "*.toml"],
        "stable_nalu.result": ["*.html"],
        "stable_nalu.network": ["*.cpp"],
        "stable_nalu": ["py.typed"],
        "torchlanes": ["*.h", "*.cpp", "README.md"],
    },
    cmdclass={"build_py": BuildWithCopies},
    entry_points={"console_scripts": ["stable-nalu = stable_nalu.__main__:program"]},
    python_requires=">=3.11",
    install_requires=[
        "torch>=2.6",
        "torchvision>=0.21",
        "numpy>=1.26",
        "scipy>=1.11",
        "pandas>=2.1",
        "tensorboardX>=2.6",
        "tensorboard>=2.16",
        "google-crc32c>=1.5",
        "tqdm>=4.66",
        "matplotlib>=3.8",
        "scikit-learn>=1.4",
        "markdown-it-py>=3.0",
        "jinja2>=3.1",
        "sympy>=1.13",
        "threadpoolctl>=3.1",
    ],
    extras_require={
        # pykan states nothing that it needs; all but pyyaml is required above.
        "arena": ["gplearn>=0.4.3", "pyoperon>=0.6.2", "pykan>=0.2.8", "pyyaml>=6"],
        "dev": DEV,
        "docs": ["mkdocs-material>=9.5", "mkdocstrings-python>=1.16"],
        "environment": ["gymnasium>=1.0"],
        "onnx": ["onnx>=1.17", "onnxscript>=0.2"],
    },
)
