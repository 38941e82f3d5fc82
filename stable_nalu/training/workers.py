"""Several processes share the stacks of a plan."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Sequence
from multiprocessing.queues import Queue

import torch

from stable_nalu.errors import UsageError
from stable_nalu.options import SCRIPTS

from .console import PlanConsole, StackView
from .interruption import Interruption
from .shards import PlannedRun
from .stack_run import StackResult, train_stack
from .task import TASKS

POLL_SECONDS = 0.5

Stack = list[PlannedRun]


def train_in_workers(
    script: str,
    stacks: Sequence[Stack],
    workers: int,
    console: PlanConsole,
    interruption: Interruption,
) -> list[StackResult]:
    """Train the stacks in `workers` processes; a signal is passed on to all of them."""
    context = multiprocessing.get_context("spawn")
    results: Queue = context.Queue()
    shares = [
        [(k, stack) for k, stack in enumerate(stacks) if k % workers == w] for w in range(workers)
    ]
    processes = [
        context.Process(target=_work, args=(script, share, results), daemon=False)
        for share in shares
    ]
    for process in processes:
        process.start()
    try:
        return _collect(len(stacks), processes, results, console, interruption)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
            process.join()


def _collect(count, processes, results, console, interruption) -> list[StackResult]:
    done: dict[int, StackResult] = {}
    told = False
    while len(done) < count:
        if interruption.signal_number is not None and not told:
            told = True
            for process in processes:
                if process.is_alive():
                    os.kill(process.pid, signal.SIGTERM)
        try:
            message = results.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if not any(process.is_alive() for process in processes) and results.empty():
                lost = sorted(set(range(count)) - set(done))
                raise UsageError(
                    f"a worker process ended early; stacks {lost} are incomplete: "
                    "run the same command with --resume, or with fewer --workers"
                )
            continue
        kind, *arguments = message
        if kind == "result":
            stack, result = arguments
            done[stack] = result
        elif kind == "error":
            raise UsageError(arguments[0])
        else:
            getattr(console, kind)(*arguments)
    return [done[k] for k in range(count)]


def _work(script: str, share: Sequence[tuple[int, Stack]], results: Queue) -> None:
    torch.set_num_threads(1)

    def send(method: str, *arguments) -> None:
        results.put((method, *arguments))

    with Interruption() as interruption:
        for k, stack in share:
            if interruption.signal_number is not None:
                results.put(("result", k, StackResult(interrupted_at=stack[0].start)))
                continue
            view = StackView(send, k, len(stack))
            try:
                result = train_stack(SCRIPTS[script], TASKS[script], stack, view, interruption)
            except UsageError as error:
                results.put(("error", str(error)))
                return
            view.close()
            results.put(("result", k, result))
