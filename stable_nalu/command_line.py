"""The command `stable-nalu`: what the scripts of a checkout do, each under the name of its script.

`stable-nalu NAME` is `experiments/NAME.py`, and `stable-nalu export NAME` the script of that name
below `export/`; those that are used most go without `export`, too.
"""

import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from importlib import import_module
from textwrap import wrap

from .base.errors import OptionError, UsageError, did_you_mean
from .base.files import VERSION
from .base.script import EXIT_USAGE, command, exit_code, packages, say
from .layer import entries
from .options.flag import MODELS, UNITS
from .task.table import SCRIPTS, TASKS

PROGRAM = "stable-nalu"
_WIDTH = 98

# fmt: off
Commands = Mapping[str, tuple[str, str]]
"""Name -> module and function below the package, and what it does."""

PAPERS: Commands = {
    "list": ("bench:reproduce", "Name the figures and tables that can be made."),
    "reproduce": ("bench:reproduce", "Reproduce a figure or table from its key."),
    "verify": ("bench:reproduce", "Retrain stored rows of a figure or table, and compare digits."),
    "board": ("bench.board:main", "Submit a layer to the board, or check a submission."),
    "batch": ("bench:batch", "Train an experiment in shards, here or as an array job."),
    "plot": ("paper.command:plot_command", "Draw figures of the papers, or of your own runs."),
    "weight_distribution": ("paper.articles:weights_command",
        "Show how weights of a NAC are distributed, drawn at random or at their start."),
}
RUNS: Commands = {
    "export": ("command_line:main", "Write runs to a CSV file; alone, it lists of which scripts."),
    "summarize": ("statistics.summary:main", "Summarise runs: success rate, steps, sparsity."),
    "verdict": ("statistics.summary:verdict", "Say of every run whether it solved its task."),
    "formula": ("inspection.saved_model:formula_command",
        "Say what trained networks compute, as formulas."),
    "model": ("inspection.saved_model:export_command",
        "Write a trained model as ONNX or safetensors."),
}
RIVALS: Commands = {
    "fit": ("bench.fit:main", "Find the law of a table, beside other families of models."),
    "arena": ("bench.arena:main", "Units beside other families of models, on equal CPU time."),
}
EXPORTS: Commands = {
    "runs": ("result.export:any_runs", "Export runs of any script, with configurations."),
    "simple_function_static": ("result.export:arithmetic", "Export runs of arithmetic tasks."),
    "sequential_mnist": ("result.export:sequences", "Export runs on sequences of digits."),
    "two_digit_mnist_reader": ("result.export:pairs", "Export runs on pairs of digits."),
    "pretrained_model_prediction_sweep": ("inspection.prediction_sweep:main",
        "Write predictions of a trained model over a grid of two inputs."),
    "model": RUNS["model"],
    "formula": RUNS["formula"],
    "expand_weights": ("paper.command:expand_weights", "Cut the last step out of weights."),
}
TABLES: Commands = {
    "generate_exp_setups": ("statistics.thresholds:main", "Write thresholds of success."),
    "generate_divBy0_extrap_thresholds": ("statistics.thresholds:write_residuals",
        "Write the errors of exact division by small numbers."),
    "generate_dataset_solution_indexes": ("paper.command:solution_indexes",
        "Write the inputs that matter in the robustness study."),
}
TRAINING: Commands = {name: ("result:run_script", spec.summary) for name, spec in SCRIPTS.items()}
ALSO: Commands = {name: {**PAPERS, **RUNS}[name] for name in ("plot", "summarize", "verdict")}
"""Commands of their own whose scripts are below `export/`."""
# fmt: on
BEGINNINGS = {"list": ["--list"], "verify": ["--verify"]}
"""Commands that are scripts with words in front."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that is named first, with the words behind it, and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        # Before it runs, as an exception of a signal does not pass through imports unchanged.
        with packages(PROGRAM):
            run = _command(words)
    except UsageError as error:
        sys.stderr.write(f"{PROGRAM}: error: {error}\n")
        return EXIT_USAGE
    return exit_code(PROGRAM, run)


def _command(words: Sequence[str]) -> Callable[[], int | None]:
    if words[:1] == ["export"]:
        start, words = f"{PROGRAM} export", words[1:]
        groups = {"runs and models": EXPORTS, "thresholds and data": TABLES, "also": ALSO}
    else:
        start = PROGRAM
        groups = {"figures and tables of papers": PAPERS, "your runs": RUNS}
        groups |= {"other families of models": RIVALS, "training": TRAINING}
    if not words or words[0] in ("--help", "-h"):
        return lambda: say(_help(start, groups))
    if words == ["--version"] and start == PROGRAM:
        return lambda: say(f"{PROGRAM} {VERSION}")
    if words[0] == "--completion" and start == PROGRAM:
        return partial(_complete, words[1:])
    name, *rest = words
    places = {name: place for commands in groups.values() for name, (place, _) in commands.items()}
    if name not in places:
        remedy = did_you_mean(name, places, f"see {start} --help")
        raise OptionError(None, f"there is no command {name!r}", remedy)
    module, _, function = places[name].partition(":")
    run = getattr(import_module(f"{__package__}.{module}"), function)
    if name in groups.get("training", {}):
        run = partial(run, SCRIPTS[name], TASKS[name])
    return partial(_run, f"{start} {name}", run, [*BEGINNINGS.get(name, ()), *rest])


def _run(name: str, run: Callable[[Sequence[str]], int], words: Sequence[str]) -> int:
    """Run a command, whose errors name it."""
    token = command.set(name)
    try:
        return run(words)
    finally:
        command.reset(token)


def _complete(words: Sequence[str]) -> None:
    """Print a script for a shell, which completes commands, their flags and names of layers."""
    if words not in (["bash"], ["zsh"]):
        raise OptionError("--completion", "it takes a shell", "write bash or zsh")
    words_of: dict[str, list[str]] = {"": [*PAPERS, *RUNS, *RIVALS, *TRAINING, *_BEFORE]}
    words_of["export"] = [*EXPORTS, *TABLES, *ALSO]
    others = [*PAPERS, *RUNS, *RIVALS, *(f"export {name}" for name in words_of["export"])]
    for name in [one for one in others if one != "export"]:
        with redirect_stdout(io.StringIO()) as said, suppress(SystemExit):
            _command([*name.split(), "--help"])()
        words_of[name] = re.findall(r"^ +(--[a-z][\w-]*)", said.getvalue(), re.MULTILINE)
    names = {*MODELS, *UNITS, *(entry.label for entry in entries().values())}
    for script, spec in SCRIPTS.items():
        words_of[script] = [flag.name for flag in spec.flags]
        for flag in [one for one in spec.flags if one.choices is not None]:
            known = {*map(str, flag.allowed() or ()), *(names if callable(flag.choices) else ())}
            words_of[f"{script} {flag.name}"] = sorted(w for w in known if re.fullmatch(_WORD, w))
    from .paper.index import EXPERIMENTS

    for name in ("reproduce", "verify", "batch"):
        words_of[name] = [*EXPERIMENTS, *words_of[name]]
    by_words: dict[str, list[str]] = {}
    for name, known in words_of.items():
        by_words.setdefault(" ".join(known), []).append(f'"{name}"')
    cases = [f"    {'|'.join(names)}) known={words!r} ;;" for words, names in by_words.items()]
    zsh = "autoload -U +X bashcompinit && bashcompinit\n" if words == ["zsh"] else ""
    say(zsh + _COMPLETION.replace("CASES", "\n".join(cases)))


_WORD = r"[\w.+-]+"
"""A word that no shell takes for more than one, or for a pattern."""
_BEFORE = ("--help", "--version", "--completion")
_COMPLETION = """_stable_nalu() {
  local word=${COMP_WORDS[COMP_CWORD]} name=${COMP_WORDS[1]} first=2 flag= known= k
  if [[ $name == export ]] && ((COMP_CWORD > 2)); then name="export ${COMP_WORDS[2]}" first=3; fi
  if ((COMP_CWORD == 1)); then name=; fi
  for ((k = first; k < COMP_CWORD; k++)); do
    if [[ ${COMP_WORDS[k]} == --* ]]; then flag=" ${COMP_WORDS[k]}"; fi
  done
  if [[ $word == -* ]]; then flag=; fi
  case $name$flag in
CASES
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
}
complete -o default -F _stable_nalu stable-nalu"""


def _help(start: str, groups: Mapping[str, Commands]) -> str:
    lines = [f"usage: {start} COMMAND ...", f"       {start} COMMAND --help"]
    if start == PROGRAM:
        lines += [f"       {start} --version", f"       {start} --completion bash|zsh"]
    width = max(len(name) for commands in groups.values() for name in commands)
    for title, commands in groups.items():
        lines += ["", f"{title}:"]
        for name, (_, text) in commands.items():
            indent = " " * (width + 4)
            lines += wrap(f"  {name:<{width}}  {text}", _WIDTH, subsequent_indent=indent)
    return "\n".join(lines)
