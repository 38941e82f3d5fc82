"""Several processes share the stacks of a plan."""

import multiprocessing
import signal
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import STOP_SIGNALS, Interruption
from stable_nalu.layer.own_layers import LayerFile, load_layers, loaded_files

from .console import Console
from .runs import Share, Stack, StackResult, TrainStacks

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Worker:
    """A process, the end of its pipe and the stacks that it trains.

    Each has a pipe of its own, so that none can block another by dying.
    """

    process: BaseProcess
    connection: Connection
    stacks: Sequence[int]


def train_in_workers(
    train: TrainStacks,
    stacks: Sequence[Stack],
    workers: int,
    console: Console,
    interruption: Interruption,
) -> list[StackResult]:
    """Train the stacks in `workers` processes; a signal makes all of them save and stop."""
    shares = [
        [(k, stack) for k, stack in enumerate(stacks) if k % workers == w] for w in range(workers)
    ]
    crew = [_start(train, share) for share in shares]
    try:
        return _collect(len(stacks), crew, console, interruption)
    finally:
        _dismiss(crew)


def _start(train: TrainStacks, share: Share) -> Worker:
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    work = (train, share, sending, loaded_files())
    process = context.Process(target=_work, args=work, daemon=False)
    # The first process of this kind starts a helper, which would unblock the signals below.
    resource_tracker.ensure_running()
    # Inherited by the worker: signals wait until it can handle them.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    sending.close()
    return Worker(process, receiving, [k for k, _ in share])


def _collect(
    count: int, crew: Sequence[Worker], console: Console, interruption: Interruption
) -> list[StackResult]:
    done: dict[int, StackResult] = {}
    working = {worker.connection: worker for worker in crew}
    stopping = False
    while working:
        if interruption.signal_number is not None and not stopping:
            stopping = True
            for worker in working.values():
                worker.process.terminate()
        ready = wait(list(working), POLL_SECONDS)
        for connection in [one for one in working if one in ready]:
            try:
                kind, *arguments = connection.recv()
            except EOFError:
                worker = working.pop(connection)
                worker.process.join()
                if worker.process.exitcode:
                    console.line(
                        f"a worker process ended early, exit code {worker.process.exitcode}; "
                        + _incomplete(set(worker.stacks) - set(done))
                    )
                continue
            if kind == "result":
                stack, done[stack] = arguments
            elif kind == "error":
                raise UsageError(arguments[0])
            else:
                console.obey(kind, *arguments)
    lost = set(range(count)) - set(done)
    if lost:
        raise UsageError(f"a worker process ended early; {_incomplete(lost)}")
    return [done[k] for k in range(count)]


def _incomplete(stacks: Collection[int]) -> str:
    return (
        f"stacks {', '.join(map(str, sorted(stacks)))} are incomplete: "
        "run the same command with --resume, or with fewer --workers"
    )


def _dismiss(crew: Sequence[Worker]) -> None:
    """Have all workers save and stop; nobody listens to what they still have to say."""
    for worker in crew:
        worker.connection.close()
        worker.process.terminate()
    for worker in crew:
        worker.process.join()


def _work(
    train: TrainStacks, share: Share, connection: Connection, files: Sequence[LayerFile]
) -> None:
    torch.set_num_threads(1)
    with Interruption(insists=False) as interruption:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

        def send(kind: str, *arguments: object) -> None:
            try:
                connection.send((kind, *arguments))
            except OSError:  # the process that started this one is gone
                interruption.signal_number = signal.SIGTERM

        try:
            load_layers(files)
        except UsageError as error:
            send("error", str(error))
            return
        try:
            results = {} if interruption.signal_number else train(share, send, interruption)
        except UsageError as error:
            send("error", str(error))
            return
        for k, stack in share:
            stopped = StackResult(False, stack[0].start, interruption.signal_number)
            send("result", k, results.get(k, stopped))
