"""Who does a large piece of work: threads of this process, processes on this machine's cores, or
a Dask cluster. What comes out is the same for any of them."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from mldsa_lab.errors import LabError, first_line
from mldsa_lab.extras import need

# Items under way for each process: one at work, one waiting, so that none idles.
_AHEAD = 2
# How often an item is tried anew when the Dask worker that had it is lost.
_RETRIES = 5
_CONNECT_S = 15


class WorkItem(NamedTuple):
    """A part of the work: a module's function with its arguments, and what errors call it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Workforce(Protocol):
    """Does items side by side."""

    @property
    def ahead(self) -> int:
        """Items to hand out before waiting for the first."""
        ...

    def submit(self, item: WorkItem) -> Callable[[], Any]:
        """Hand out an item; the result waits for what its function returns."""
        ...


def in_order(items: Iterable[WorkItem], force: Workforce) -> Iterator[Any]:
    """What each item's function returns, in their order; a few are under way at a time."""
    under_way: deque[Callable[[], Any]] = deque()
    for item in items:
        under_way.append(force.submit(item))
        if len(under_way) >= force.ahead:
            yield under_way.popleft()()
    while under_way:
        yield under_way.popleft()()


@contextmanager
def local(processes: int) -> Iterator[Workforce]:
    """Processes of this machine."""
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(processes, mp_context=context, initializer=_ignore_interrupt) as pool,
        _ended_early(pool),
    ):
        yield _Local(pool, _AHEAD * processes)


@contextmanager
def threads(count: int) -> Iterator[Workforce]:
    """Threads of this process, for functions that work without Python's lock."""
    with ThreadPoolExecutor(count) as pool, _ended_early(pool):
        yield _Local(pool, _AHEAD * count)


@contextmanager
def _ended_early(pool: Executor) -> Iterator[None]:
    """Whatever is not under way is not begun where the block that uses the pool fails."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _ignore_interrupt() -> None:
    """Ctrl-C ends the parent, which ends the pool; the workers would only print tracebacks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Local:
    def __init__(self, pool: Executor, ahead: int) -> None:
        self._pool = pool
        self.ahead = ahead

    def submit(self, item: WorkItem) -> Callable[[], Any]:
        future = self._pool.submit(item.function, *item.arguments)

        def wait() -> Any:
            try:
                return future.result()
            except BrokenProcessPool:
                raise LabError(f"{item.name}: a process was ended from outside") from None

        return wait


@contextmanager
def dask(address: str) -> Iterator[Workforce]:
    """The workers of the Dask scheduler at ``address``. Each needs this version of the lab; one
    that is lost has its items done by others."""
    need("dask", "a Dask cluster")
    from distributed import Client

    connect: Any = Client
    try:
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise LabError(
            f"Dask scheduler {address}: cannot be reached: {first_line(error)}"
        ) from None
    with client:
        threads = sum(int(w["nthreads"]) for w in client.scheduler_info(-1)["workers"].values())
        if not threads:
            raise LabError(f"Dask scheduler {address}: has no workers")
        yield _Dask(client, max(_AHEAD * threads, 2))


class _Dask:
    def __init__(self, client: Any, ahead: int) -> None:
        self._client = client
        self.ahead = ahead

    def submit(self, item: WorkItem) -> Callable[[], Any]:
        from distributed import KilledWorker

        future = self._client.submit(item.function, *item.arguments, pure=False, retries=_RETRIES)

        def wait() -> Any:
            try:
                return future.result()
            except KilledWorker:
                raise LabError(f"{item.name}: every Dask worker that took it was lost") from None
            except (ImportError, AttributeError) as error:
                raise LabError(f"{item.name}: a Dask worker lacks this lab: {error}") from None

        return wait
