"""Several processes share the stacks of a plan."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from stable_nalu.errors import UsageError
from stable_nalu.options import SCRIPTS

from ..arithmetic.stack_run import train_stack
from ..arithmetic.task import TASKS
from ..logging.console import PlanConsole, StackView
from .interruption import STOP_SIGNALS, Interruption
from .runs import PlannedRun
from .shell import StackResult

POLL_SECONDS = 0.5

Stack = list[PlannedRun]
Share = list[tuple[int, Stack]]


@dataclass(frozen=True)
class Worker:
    """A process and the end of its pipe; a pipe each, so that none can block another by dying."""

    process: BaseProcess
    connection: Connection


def train_in_workers(
    script: str,
    stacks: Sequence[Stack],
    workers: int,
    console: PlanConsole,
    interruption: Interruption,
) -> list[StackResult]:
    """Train the stacks in `workers` processes; a signal makes all of them save and stop."""
    shares = [
        [(k, stack) for k, stack in enumerate(stacks) if k % workers == w] for w in range(workers)
    ]
    crew = [_start(script, share) for share in shares]
    try:
        return _collect(len(stacks), crew, console, interruption)
    finally:
        _dismiss(crew)


def _start(script: str, share: Share) -> Worker:
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(script, share, sending), daemon=False)
    # The first process of this kind starts a helper, which would unblock the signals below.
    resource_tracker.ensure_running()
    # Inherited by the worker: signals wait until it can handle them.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    sending.close()
    return Worker(process, receiving)


def _collect(
    count: int, crew: Sequence[Worker], console: PlanConsole, interruption: Interruption
) -> list[StackResult]:
    done: dict[int, StackResult] = {}
    working = {worker.connection: worker.process for worker in crew}
    told = False
    while working:
        if interruption.signal_number is not None and not told:
            told = True
            for process in working.values():
                process.terminate()
        ready = wait(list(working), POLL_SECONDS)
        for connection in [one for one in working if one in ready]:
            try:
                kind, *arguments = connection.recv()
            except EOFError:
                process = working.pop(connection)
                process.join()
                if process.exitcode:
                    console.line(f"a worker process ended early, exit code {process.exitcode}")
                continue
            if kind == "result":
                stack, done[stack] = arguments
            elif kind == "error":
                raise UsageError(arguments[0])
            else:
                getattr(console, kind)(*arguments)
    lost = sorted(set(range(count)) - set(done))
    if lost:
        raise UsageError(
            f"a worker process ended early; stacks {', '.join(map(str, lost))} are incomplete: "
            "run the same command with --resume, or with fewer --workers"
        )
    return [done[k] for k in range(count)]


def _dismiss(crew: Sequence[Worker]) -> None:
    """Have all workers save and stop; nobody listens to what they still have to say."""
    for worker in crew:
        worker.connection.close()
        worker.process.terminate()
    for worker in crew:
        worker.process.join()


def _work(script: str, share: Share, connection: Connection) -> None:
    torch.set_num_threads(1)
    with Interruption(insists=False) as interruption:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

        def send(kind: str, *arguments: object) -> None:
            try:
                connection.send((kind, *arguments))
            except OSError:  # the process that started this one is gone
                interruption.signal_number = signal.SIGTERM

        for k, stack in share:
            if interruption.signal_number is not None:
                send("result", k, StackResult(interrupted_at=stack[0].start))
                continue
            view = StackView(send, k, len(stack))
            try:
                result = train_stack(SCRIPTS[script], TASKS[script], stack, view, interruption)
            except UsageError as error:
                send("error", str(error))
                return
            view.close()
            send("result", k, result)
