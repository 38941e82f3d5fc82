"""Mutate the package, one place at a time, and see whether the nearest tests fail.

    python -m tests.mutate                  # all, one after another, in a copy of the tree
    python -m tests.mutate wilson holm      # mutations whose names contain a word

A mutation whose text is not in its file is an error, as then nothing would be tested. The exit code
is 1 if a mutation was not caught.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache")
MOST_SECONDS = 900


@dataclass(frozen=True)
class Mutation:
    """A text of a file below `stable_nalu`, what replaces it, and the tests that should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    def apply(self, root: Path) -> None:
        """Replace the text, which must stand in the file exactly once."""
        path = root / "stable_nalu" / self.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if (count := text.count(self.old)) != 1:
            raise SystemExit(f"{self.name}: {self.file} has {count} times the text {self.old!r}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


STATISTICS, PENALTIES = "tests/statistics/test_intervals.py", "tests/training/test_loss.py"
ENGINE = "tests/training/engine/test_digests.py tests/training/engine/test_step.py"
FIGURES = "tests/figure/test_kinds.py tests/figure/test_panels.py"
RESUMED = "tests/experiments/test_resume.py"
MUTATIONS = (
    Mutation(
        "newcombe: lower bound without the other rate",
        "statistics/intervals.py",
        "lower = length(one.mean - one.lower, other.upper - other.mean)",
        "lower = length(one.mean - one.lower, other.mean - other.lower)",
        STATISTICS,
    ),
    Mutation(
        "wilson: z of 90 %",
        "statistics/intervals.py",
        "proportion_ci(_LEVEL, ",
        "proportion_ci(0.90, ",
        STATISTICS,
    ),
    Mutation(
        "mcnemar: p of one side",
        "statistics/intervals.py",
        "stats.binomtest(more, more + fewer).pvalue",
        "stats.binomtest(more, more + fewer, alternative='greater').pvalue",
        STATISTICS,
    ),
    Mutation(
        "newcombe: correlation without correction for continuity",
        "statistics/intervals.py",
        "max(excess - n / 2, 0)",
        "max(excess, 0)",
        STATISTICS,
    ),
    Mutation(
        "holm: values in falling order",
        "statistics/intervals.py",
        "key=values.__getitem__)",
        "key=values.__getitem__, reverse=True)",
        STATISTICS,
    ),
    Mutation(
        "threshold: an equal error is solved",
        "statistics/setups.py",
        "return errors < self.threshold",
        "return errors <= self.threshold",
        "tests/statistics/test_setups.py tests/statistics/test_judge.py",
    ),
    Mutation(
        "best step: one later",
        "statistics/table.py",
        '"best.model.step": best + 1,',
        '"best.model.step": min(best + 2, len(steps)),',
        "tests/statistics/test_judge.py",
    ),
    Mutation(
        "best step: a last row that is NaN",
        "statistics/table.py",
        "size - 1 if np.isnan(last).all() else first + int(np.nanargmin(last))",
        "first + int(np.argmin(last))",
        "tests/statistics/test_judge.py",
    ),
    Mutation(
        "sparsity: over one axis",
        "functional.py",
        ".amax(trailing(min(ndim, W.ndim)))",
        ".amax(trailing(min(ndim, W.ndim))).amin()",
        "tests/test_functional.py",
    ),
    Mutation(
        "mean over the batch as a sum",
        "functional.py",
        "return mean_over((y - t) ** 2, 2)",
        "return ((y - t) ** 2).sum((-2, -1))",
        "tests/test_functional.py",
    ),
    Mutation(
        "l1: sign",
        "training/step.py",
        "return sum(norms[1:], norms[0])",
        "return -sum(norms[1:], norms[0])",
        PENALTIES,
    ),
    Mutation(
        "penalty ramp: one step late",
        "training/step.py",
        "np.clip((iteration - self.start) / self.length, 0.0, 1.0)",
        "np.clip((iteration - 1 - self.start) / self.length, 0.0, 1.0)",
        PENALTIES,
    ),
    Mutation(
        "nmu: weights between -1 and 1",
        "layer/nau_nmu.py",
        "self.weight_range = (float(self.mnac_epsilon), 1.0)",
        "self.weight_range = (-1.0, 1.0)",
        "tests/layer/test_nau_nmu.py tests/layer/test_weight_ranges.py",
    ),
    Mutation(
        "adam: no correction of bias",
        "training/step.py",
        "return -(rate / (1 - self.beta_1**step)),",
        "return -rate,",
        "tests/training/test_step.py",
    ),
    Mutation(
        "adam of the engine: no correction of bias",
        "training/engine_stack.py",
        "optimizer.numbers(done + k + 1,",
        "optimizer.numbers(10**6,",
        ENGINE,
    ),
    Mutation(
        "an optimiser that the engine does not know",
        "training/engine_program.py",
        "if nodes[0] != nodes[1]:",
        "if False:",
        "tests/training/engine/test_strange_layers.py",
    ),
    Mutation(
        "clipping: all runs by the limit of the first",
        "training/engine_stack.py",
        "np.broadcast_to(limit, (self.runs,))[part.runs]",
        "np.broadcast_to(limit, (self.runs,))[[0] * len(part.runs)]",
        "tests/training/engine/test_alone.py -k clipped",
    ),
    Mutation(
        "operands: exchanged",
        "dataset/simple_function.py",
        "for start, end in self.operands)\n        return self.operation",
        "for start, end in self.operands[::-1])\n        return self.operation",
        "tests/dataset/test_simple_function.py tests/dataset/test_stream.py",
    ),
    Mutation(
        "ranges: tests on the interpolation range",
        "task/arithmetic.py",
        "return dataset.fork(config.extrapolation_range, seed=TEST_SEED, use",
        "return dataset.fork(config.interpolation_range, seed=TEST_SEED, use",
        "tests/task/test_operation_data.py tests/experiments/test_traces.py",
    ),
    Mutation(
        "seed: the next one",
        "training/checkpoint.py",
        "torch.manual_seed(seed)",
        "torch.manual_seed(seed + 1)",
        "tests/experiments/test_traces.py",
    ),
    Mutation(
        "a run that diverged ends the others",
        "training/loop.py",
        "return len(self.diverged_at) + len(self.stopped_at) == self.runs",
        "return len(self.diverged_at) > 0",
        "tests/experiments/test_divergence.py",
    ),
    Mutation(
        "a run that diverged ends the log of another",
        "training/loop.py",
        "self.recorder.live[run] = False\n                self.line",
        "self.recorder.live[run - 1] = False\n                self.line",
        "tests/experiments/test_divergence.py",
    ),
    Mutation(
        "a log point lost where training is killed",
        "training/checkpoint.py",
        "        writer.events.sync()\n",
        "",
        f"{RESUMED} tests/ensemble/test_kills.py",
    ),
    Mutation(
        "resume: an iteration late",
        "training/loop.py",
        'self.task.at = checkpoint["epoch"]',
        'self.task.at = checkpoint["epoch"] + 1',
        RESUMED,
    ),
    Mutation(
        "resume: a checkpoint of another seed",
        "training/checkpoint.py",
        "        if dest in saved and dest not in controls and",
        '        if dest in saved and dest not in {*controls, "seed"} and',
        f"{RESUMED} tests/attacks/test_saved_states.py",
    ),
    Mutation(
        "noise: drawn once for all runs",
        "training/engine_stack.py",
        "state = generator.get_state().numpy().tobytes()",
        'state = b""',
        "tests/training/engine/test_alone.py -k noise",
    ),
    Mutation(
        "published: 22 runs as 21",
        "paper/published_results/arithmetic_units.csv",
        "nac-nmu,mul,overlap.ratio,0.75,22,50,0.44",
        "nac-nmu,mul,overlap.ratio,0.75,21,50,0.44",
        "tests/paper/test_published.py",
    ),
    Mutation(
        "figure: without the runs that failed",
        "figure/runs.py",
        "    groups = runs.groupby(by, sort=False",
        '    runs = runs.loc[runs["solved"]]\n    groups = runs.groupby(by, sort=False',
        FIGURES,
    ),
    Mutation(
        "figure: judges for itself",
        "figure/runs.py",
        "    found = judge.outcomes(rows, runs, best_range, also)",
        "    found = judge.outcomes(rows, runs.assign(threshold=1e-3), best_range, also)",
        f"{FIGURES} tests/test_one_rule.py",
    ),
    Mutation(
        "exporter: without the last row",
        "result/export.py",
        "        writer.writerows(zip(same[0], *cells, *same[1:], strict=True))",
        "        writer.writerows([*zip(same[0], *cells, *same[1:], strict=True)][:-1])",
        "tests/export/test_export_simple_function_static.py",
    ),
    Mutation(
        "a string import that closes a circle",
        "options/run_names.py",
        "def canonical(",
        "def _tasks():\n    from importlib import import_module\n\n"
        "    return import_module('stable_nalu.task')\n\n\ndef canonical(",
        "tests/test_project.py",
    ),
)


def tested(root: Path, tests: str) -> tuple[int, str]:
    """Run tests in a copy of the tree; return the exit code of pytest and its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *tests.split()],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    return done.returncode, (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Try mutations whose names have one of the words, all without one; return the exit code."""
    chosen = [m for m in MUTATIONS if not words or any(word in m.name for word in words)]
    escaped = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder, "tree")
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for mutation in chosen:
            file = copy / "stable_nalu" / mutation.file
            kept = file.read_bytes() if file.exists() else b""
            mutation.apply(copy)
            code, last = tested(copy, mutation.tests)
            file.write_bytes(kept)
            # pytest ends with 1 if a test failed; anything else is an error of this table.
            if code not in (0, 1):
                raise SystemExit(f"{mutation.name}: pytest ended with {code}: {last}")
            escaped += code == 0
            say(f"{'caught' if code else 'NOT CAUGHT':<10}  {mutation.name}: {last}")
    say(f"{len(chosen) - escaped} of {len(chosen)} mutations are caught")
    return int(escaped > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
