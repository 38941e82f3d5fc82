"""The record of how a run was made: the file `.run.json` in its folder."""

import functools
import json
import platform
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module, metadata
from pathlib import Path

from stable_nalu.files import atomic_text_file, json_of
from stable_nalu.machine import CHECKOUT

RECORD_NAME = ".run.json"
NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True)
class RunRecord:
    """The script, configuration and versions of a run, and the command that repeats it.

    `config` maps the name of each flag to its effective value, however it was given; values are
    what JSON knows (a tuple equals a list). `resumed_with` are the commands of later resumes.
    `layer_files` are path, digest and text of what defines layers that are not of this package.
    `engine` is what trains an arithmetic run: `lanes` and its version, or `torch` and the reason.
    `log_started` is the wall time of the first event of the log, by which another's is told.
    """

    script: str
    config: Mapping[str, object]
    command: str
    versions: Mapping[str, str | None]
    git_revision: str | None
    resumed_with: tuple[str, ...] = ()
    layer_files: Sequence[Mapping[str, str]] = ()
    log_started: float | None = None
    engine: str | None = None

    @classmethod
    def create(cls, script: str, config: Mapping[str, object], command: str) -> "RunRecord":
        """Make the record of a run that starts now, with the installed versions."""
        return cls(script, dict(config), command, _versions(), _git_revision())

    @classmethod
    def read(cls, folder: Path) -> "RunRecord | None":
        """Return the record in `folder`; None where there is none or it is not readable as one."""
        try:
            written = json_of(folder / RECORD_NAME)
            content = {"log_started": None, "layer_files": (), "engine": None, **written}
            known = {field.name: content[field.name] for field in fields(cls)}
            record = cls(**{**known, "resumed_with": tuple(known["resumed_with"])})
            record._identity()  # which fails for parts of another make
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record

    def write(self, folder: Path) -> None:
        """Write the record into `folder`, in one step."""
        with atomic_text_file(folder / RECORD_NAME) as file:
            json.dump(vars(self), file, indent=1)
            file.write("\n")

    def resumed(self, earlier: "RunRecord | None") -> "RunRecord":
        """Return this record for a run resumed from `earlier`, whose command comes first."""
        if earlier is None:
            return self
        return replace(
            self,
            command=earlier.command,
            log_started=earlier.log_started,
            resumed_with=(*earlier.resumed_with, self.command),
        )

    def differences(self, other: "RunRecord", ignored: Collection[str] = ()) -> list[str]:
        """Return `flag: own value / other value` for whatever tells two configurations apart.

        `ignored` are names in `config` that control a run without being part of what it computes.
        """
        mine, theirs = self._identity(), other._identity()
        return [
            f"{name}: {_shown(mine, name)} / {_shown(theirs, name)}"
            for name in {**mine, **theirs}
            if name not in ignored and not _same(mine, theirs, name)
        ]

    def _identity(self) -> dict[str, object]:
        """Return what tells this run from others: script, configuration, digests of layers."""
        digests = [file["sha256"][:12] for file in self.layer_files]
        own = {"layer file (SHA-256)": digests} if digests else {}
        return {"script": self.script, **self.config, **own}


def _same(one: Mapping[str, object], other: Mapping[str, object], name: str) -> bool:
    # By value, as 10 and 10.0 are one setting; by text too, as NaN does not equal itself.
    texts = _shown(one, name), _shown(other, name)
    if NOT_RECORDED in texts or texts[0] == texts[1]:
        return texts[0] == texts[1]
    return json.loads(texts[0]) == json.loads(texts[1])


def _shown(config: Mapping[str, object], name: str) -> str:
    return json.dumps(config[name], sort_keys=True) if name in config else NOT_RECORDED


@functools.cache
def _versions() -> dict[str, str | None]:
    def version(package: str) -> str | None:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    return {
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        # By its name, as the package offers what is built on this module.
        "stable_nalu": import_module("stable_nalu").__version__,
    }


@functools.cache
def _git_revision() -> str | None:
    """Return the commit of the checkout that holds the package; local changes add `-dirty`."""
    if not (CHECKOUT / ".git").exists():
        return None
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        return subprocess.run(
            [*command, "--match="], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
