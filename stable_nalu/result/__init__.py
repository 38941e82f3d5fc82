"""From an experiment's key to its figure: trained in shards and jobs, exported, judged, compared.

The batch system does the scheduling. Without one, processes of this machine share the shards.
`experiments/*.py` and `stable-nalu` start here: it is the one entrance to all training scripts.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.base.script import exit_code, packages
from stable_nalu.options import ScriptSpec
from stable_nalu.training.shell import set_threads, train_plan
from stable_nalu.training.task import Task


def run_script(spec: ScriptSpec, task: type[Task], argv: Sequence[str] | None = None) -> int:
    """Do what the command line of a training script says, and return the exit code.

    It trains runs and says what they have learned, hands them over to a scheduler, or looks at the
    model that `--evaluate` names.
    """
    words = sys.argv[1:] if argv is None else argv
    with packages(f"{spec.name}.py"):
        plans, how = spec.parsed(words)
        set_threads(task)

    def learned(folders: Sequence[Path]) -> str | None:
        from stable_nalu.inspection.saved_model import in_short

        return in_short(spec, task, folders)

    def obey() -> int:
        if how.keys() - {"sweep"}:
            from .sweep import scheduled

            return scheduled(task, spec, plans, how, words)
        if plans[0].dry_run:
            sys.stdout.writelines(f"{name}\n" for plan in plans for name in plan.names())
            return 0
        first = plans[0].configs[0]
        if getattr(first, "evaluate", None) is not None:
            from .reports import report  # It draws: matplotlib and pandas take long to import.

            return report(task, spec, first)
        return train_plan(task, spec, *(plan.configs for plan in plans), learned=learned)

    return exit_code(f"{spec.name}.py", obey)
