"""Items of a job, run in parallel: processes or threads of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, NamedTuple

from mldsa_lab import LabError, first_line
from mldsa_lab.machine import cores_to_use
from mldsa_lab.plugins import need

# Items under way for each process: one at work, one waiting, so that none idles.
_AHEAD = 2
# How often an item is tried again when the Dask worker that had it is lost.
_RETRIES = 5
_CONNECT_S = 15


class WorkItem(NamedTuple):
    """A part of the job: a module's function with its arguments, and its name in errors."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class WorkerPool(NamedTuple):
    """An executor, the number of items to submit before waiting for the first, and the exceptions
    that say that the executor failed, not the item."""

    executor: Executor
    ahead: int
    failures: tuple[type[BaseException], ...] = (BrokenProcessPool,)


def in_order(items: Iterable[WorkItem], force: WorkerPool) -> Iterator[Any]:
    """Yield the result of each item, in the order of the items; ``force.ahead`` are under way."""
    submitted = ((i.name, force.executor.submit(i.function, *i.arguments)) for i in items)
    under_way = deque(islice(submitted, force.ahead))
    while under_way:
        name, future = under_way.popleft()
        try:
            result = future.result()
        except force.failures as error:
            raise LabError(f"{name}: its worker failed: {first_line(error)}") from None
        yield result
        under_way.extend(islice(submitted, 1))


def is_scheduler(text: str | None) -> bool:
    """Return whether a text is the address of a Dask scheduler, not a number of processes."""
    return text is not None and ":" in text


def process_pool(text: str | None = None) -> AbstractContextManager[WorkerPool]:
    """Return the workers of the Dask scheduler at this address, or so many processes of this
    machine, by default one for each core."""
    if text is None:
        return local(cores_to_use())
    if is_scheduler(text):
        return dask(text)
    if not text.isdecimal() or int(text) < 1:
        raise LabError(f"--processes {text}: must be a whole number from 1, or tcp://HOST:PORT")
    return local(int(text))


def local(processes: int) -> AbstractContextManager[WorkerPool]:
    """Return processes of this machine."""
    context = multiprocessing.get_context("spawn")
    # Ctrl-C ends the parent, which ends the pool; the workers would only print tracebacks.
    quiet = (signal.SIGINT, signal.SIG_IGN)
    executor = ProcessPoolExecutor(processes, context, signal.signal, quiet)
    return _pool(executor, processes)


def threads(count: int) -> AbstractContextManager[WorkerPool]:
    """Return threads of this process, for functions that release Python's lock."""
    return _pool(ThreadPoolExecutor(count), count)


@contextmanager
def _pool(executor: Executor, count: int) -> Iterator[WorkerPool]:
    """Items that are not under way when the block ends or fails are never begun."""
    try:
        yield WorkerPool(executor, _AHEAD * count)
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def dask(address: str) -> Iterator[WorkerPool]:
    """Connect to the workers of the Dask scheduler at ``address``. Each needs this version of the
    lab. Other workers take the items of a lost one."""
    need("dask", "a Dask cluster")
    from distributed import Client, KilledWorker

    connect: Any = Client
    try:
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise LabError(
            f"Dask scheduler {address}: cannot be reached: {first_line(error)}"
        ) from None
    with client:
        count = sum(int(w["nthreads"]) for w in client.scheduler_info(-1)["workers"].values())
        if not count:
            raise LabError(f"Dask scheduler {address}: has no workers")
        # The last two: a worker without this lab.
        failures = (KilledWorker, CancelledError, ImportError, AttributeError)
        executor = client.get_executor(pure=False, retries=_RETRIES)
        yield WorkerPool(executor, _AHEAD * count, failures)
