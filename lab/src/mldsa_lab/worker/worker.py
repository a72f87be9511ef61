"""A running worker, with the requests of `lab/workers/PROTOCOL.md` as methods."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Self

from mldsa_lab import LabError
from mldsa_lab.worker import protocol
from mldsa_lab.worker.channel import Channel
from mldsa_lab.worker.protocol import (
    Announcement,
    BlockShape,
    ChainStage,
    JobInput,
    Link,
    Output,
    Pass,
    ProtocolError,
    Reply,
    Runs,
    Sample,
    parse_link,
    parse_output,
    parse_sample,
)

# Clocks may differ by rate and be read a little apart.
_CLOCK_SLACK = 1.2
_CLOCK_SLACK_NS = 20_000_000


class WorkerFault(LabError):
    """The worker broke the protocol, timed out or ended. Its process group has been killed."""

    def __init__(self, worker: str, request: str, rule: str) -> None:
        super().__init__(f"worker {worker}, request {request}: {rule}")
        self.rule = rule


class WorkerRefusal(LabError):
    """The worker answered `error TEXT`: the request failed, the worker lives on."""

    def __init__(self, worker: str, request: str, text: str) -> None:
        super().__init__(f"worker {worker}, request {request}: the worker refused: {text}")
        self.text = text
        self.request = request


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits of the requests in seconds, and the longest line that is accepted in bytes."""

    hello: float = 30.0
    prepare: float = 60.0
    answer: float = 120.0
    measure: float = 300.0
    forget: float = 30.0
    quit: float = 10.0
    line_bytes: int = protocol.MAX_LINE_BYTES


@dataclass(frozen=True, slots=True)
class _Job:
    operation: str
    inputs: tuple[int, ...]


class Worker:
    """One worker process. Use as a context manager; leaving it ends the process in every case.

    A fault, an interrupt or any other exception during a request kills the worker's whole process
    group and leaves no zombie. Afterwards every request raises WorkerFault.
    """

    def __init__(self, name: str, channel: Channel, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.announcement: Announcement | None = None
        self.channel = channel
        self._jobs: dict[int, _Job] = {}
        self._ended: str | None = None  # why the worker is gone

    @classmethod
    def start(
        cls,
        name: str,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Start the program in a session of its own, so that it and its children die together.

        `env` is added to this process's environment. Raises WorkerFault if it cannot be started.
        """
        limits = limits or Limits()
        try:
            channel = Channel(argv, cwd=cwd, env=env, line_bytes=limits.line_bytes)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            if isinstance(error, FileNotFoundError):
                why = "the file does not exist; build or set up the worker again"
            # Only the program's name: faults are published.
            text = f"cannot run {Path(argv[0]).name}: {why}"
            raise WorkerFault(name, "start", text) from None
        return cls(name, channel, limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None and self.is_alive:
            with contextlib.suppress(WorkerFault):
                self.quit()
        self.kill()

    @property
    def is_alive(self) -> bool:
        """True while requests can be made."""
        return self._ended is None

    def hello(self) -> Announcement:
        """Ask for the announcement and keep it as `announcement`."""
        with self._guarded("hello"):
            text = f"hello {protocol.PROTOCOL_VERSION}\n".encode()
            lines = self._lines("hello", text, self.limits.hello)
            self.announcement = protocol.parse_hello(takewhile(lambda line: line != "end", lines))
        return self.announcement

    def prepare(
        self, job: int, variant: str, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> None:
        """Send a job's inputs; a job of the same number is replaced."""
        text = protocol.format_prepare(job, variant, set_name, operation, inputs)
        self._acknowledged(f"prepare {job}", text, f"ready {job}", self.limits.prepare)
        self._jobs[job] = _Job(operation, tuple(item.id for item in inputs))

    def answer(self, job: int, *, batch: int | None = None) -> dict[int, Output]:
        """Each input's output, performed once and untimed, by input number in the job's order.

        With `batch` the batch interface performs them, so many in each call.
        """
        known = self._job(job)
        request = f"answer {job}" if batch is None else f"answer {job} batch {batch}"
        parse = partial(parse_output, operation=known.operation)
        outputs = self._listed(request, job, parse, known.inputs, 1, self.limits.answer)
        return {output.input: output for output in outputs}

    def measure(
        self, job: int, passes: int, calls: int, warmup: int, *, runs: Runs | None = None
    ) -> list[Sample]:
        """`passes` samples of each input, of `calls` calls each, in the order they were taken.

        With `runs` a sample is of a run instead, whose first input it names. `warmup` is in ticks
        of the worker's `clock`.
        """
        known = self._job(job)
        expected = known.inputs
        if runs is not None and expected:
            firsts = (n * len(known.inputs) // runs.count for n in range(runs.count))
            expected = tuple(known.inputs[position] for position in firsts)
        phases = 0 if self.announcement is None or runs else len(self.announcement.phases)
        request = f"measure {job} {passes} {calls} {warmup}"
        if runs is not None:
            request += f" {runs.text()}"
        parse = partial(self._sample, calls=calls, phases=phases)
        threads = 1 if runs is None else runs.threads
        return self._timed(request, job, parse, expected, passes, threads)

    def block(self, job: int, passes: int, shape: BlockShape) -> list[Sample]:
        """`passes` samples of all inputs of a job, each performed once and timed as a whole."""
        first = self._job(job).inputs[:1]
        request = f"block {job} {passes} {shape.text()}"
        parse = partial(self._sample, calls=1)
        return self._timed(request, job, parse, first, passes, shape.threads)

    def chain(
        self, stages: Sequence[ChainStage], passes: int, warmup: int, threads: int = 1
    ) -> list[Pass]:
        """Send the inputs of these jobs through the stages, in each of the threads all of them.

        `warmup` is in ticks of the worker's `clock`. A link that failed is in the pass.
        """
        inputs = self._job(stages[0].job).inputs
        group = max(1, *(stage.batch for stage in stages))
        # Threads begin apart, as in runs.
        expected = [
            (thread, inputs[(thread * (len(inputs) // threads) + at) % len(inputs)])
            for thread in range(threads)
            for at in range(0, len(inputs), group)
        ]
        complete: list[Pass] = []
        links: list[Link] = []

        words = " ".join(stage.text() for stage in stages)
        request = f"chain {passes} {warmup} {threads} {words}"
        began = time.monotonic_ns()
        with self._guarded(request):
            for line in self._replies(request, "done chain", self.limits.measure):
                if line.startswith("pass "):
                    if len(links) != len(expected):
                        rule = f"a pass must have {len(expected)} links, got {len(links)}"
                        raise ProtocolError(rule)
                    wall = protocol.parse_number(line.removeprefix("pass "), "wall ticks")
                    complete.append(Pass(tuple(links), wall))
                    links.clear()
                    continue
                link = parse_link(line, len(stages))
                if len(links) == len(expected):
                    raise ProtocolError(f"more than {len(expected)} links in a pass")
                thread, first = expected[len(links)]
                if link.input != first or (link.failure is None and link.thread != thread):
                    raise ProtocolError(f"expected input {first} of thread {thread}")
                links.append(link)
            if len(complete) != passes or links:
                raise ProtocolError(f"the reply must have {passes} passes, got {len(complete)}")
            for thread in range(threads):
                own = [x for done in complete for x in done.links if x.thread == thread]
                self._check_clocks(own, began)
        return complete

    def forget(self, job: int) -> None:
        """Free the job."""
        text = f"forget {job}\n".encode()
        self._acknowledged(f"forget {job}", text, f"done {job}", self.limits.forget)
        self._jobs.pop(job, None)

    def raw(self, text: bytes) -> str:
        """Send the bytes as they are and return the first line of the reply.

        For the conformance checks, whose requests no well-behaved client would send. An `error`
        line raises WorkerRefusal as in every request.
        """
        label = protocol.quote(text.partition(b"\n")[0].decode("utf-8", "replace"))
        with self._guarded(label):
            return next(self._lines(label, text, self.limits.hello))

    def quit(self) -> None:
        """Send `quit` and wait for the end; a status other than 0 is a fault."""
        self._leave("quit", b"quit\n")

    def end_of_input(self) -> None:
        """Close the worker's standard input and wait for its end, as `quit` does."""
        self._leave("end of input", b"")

    def kill(self) -> None:
        """Kill the worker's process group and reap the worker. May be called at any time."""
        if self._ended is None:
            self._ended = "the worker was ended"
        self.channel.kill()

    def _job(self, job: int) -> _Job:
        if job not in self._jobs:
            raise LabError(f"worker {self.name}: job {job} has not been prepared")
        return self._jobs[job]

    def _sample(self, line: str, calls: int, phases: int = 0) -> Sample:
        sample = parse_sample(line, phases)
        if sample.failure is None:
            if sample.calls != calls:
                raise ProtocolError(f"a sample must be of {calls} calls, got {sample.calls}")
            a = self.announcement
            if a is not None and (a.cpu_clock is not None) != (sample.cpu is not None):
                raise ProtocolError("CPU ticks must be `-` exactly where cpu_clock is `none`")
        return sample

    def _acknowledged(self, request: str, text: bytes, reply: str, limit: float) -> None:
        with self._guarded(request):
            line = next(self._lines(request, text, limit))
            if line != reply:
                raise ProtocolError(f"expected `{reply}`, got {protocol.quote(line)}")

    def _listed(
        self,
        request: str,
        job: int,
        parse: Callable[[str], Reply],
        inputs: Sequence[int],
        passes: int,
        limit: float,
    ) -> list[Reply]:
        """A reply of one line for each of these inputs in each pass, in order, then `done`."""
        total = passes * len(inputs)
        replies: list[Reply] = []
        with self._guarded(request):
            for line in self._replies(request, f"done {job}", limit):
                reply = parse(line)
                number, position = reply.input, len(replies)
                if position >= total:
                    rule = f"more than {total} lines in the reply: input {number} again"
                    raise ProtocolError(rule)
                expected = inputs[position % len(inputs)]
                if number != expected:
                    rule = f"expected {expected}, got {number}"
                    raise ProtocolError(f"inputs must be answered in order: {rule}")
                replies.append(reply)
            if len(replies) != total:
                rule = f"the reply must have {total} lines before its last, got {len(replies)}"
                raise ProtocolError(rule)
        return replies

    def _timed(
        self,
        request: str,
        job: int,
        parse: Callable[[str], Sample],
        inputs: Sequence[int],
        passes: int,
        threads: int,
    ) -> list[Sample]:
        """`_listed` of samples on so many threads, whose clocks are checked."""
        began = time.monotonic_ns()
        samples = self._listed(request, job, parse, inputs, passes, self.limits.measure)
        with self._guarded(request):
            self._check_clocks(samples, began, threads)
        return samples

    def _check_clocks(self, samples: Sequence[Sample | Link], began: int, threads: int = 1) -> None:
        """ProtocolError if the samples, one after another, took longer than since ``began``.

        Also if the ``threads`` of a sample used more CPU time than its wall time has."""
        if self.announcement is None or self.announcement.unit != "ns":
            return
        elapsed = time.monotonic_ns() - began
        wall, cpu = sum(s.wall for s in samples), sum(s.cpu or 0 for s in samples)
        if wall > elapsed * _CLOCK_SLACK + _CLOCK_SLACK_NS:
            raise ProtocolError(
                f"{wall} ns in a request that took {elapsed} ns: the clock or its unit is wrong"
            )
        if cpu > threads * (wall * _CLOCK_SLACK + _CLOCK_SLACK_NS):
            raise ProtocolError(
                f"{cpu} ns of CPU time in {wall} ns of wall time on {threads} "
                f"thread{'s'[: threads > 1]}: the CPU clock or its unit is wrong"
            )

    @contextlib.contextmanager
    def _guarded(self, request: str) -> Iterator[None]:
        """Turn a broken rule into a fault; any other exception but a refusal kills the worker."""
        if self._ended is not None:
            raise WorkerFault(self.name, request, f"not sent: {self._ended}")
        try:
            yield
        except WorkerRefusal:
            raise
        except ProtocolError as error:
            rule = str(error)
            self._ended = f"ended by an earlier fault: {rule}"
            tail = self.channel.stderr_tail
            self.kill()
            if tail:
                rule += f"; its standard error: {tail}"
            raise WorkerFault(self.name, request, rule) from None
        except BaseException:
            self.kill()
            raise

    def _lines(self, request: str, text: bytes, limit: float) -> Iterator[str]:
        """The lines of the reply; the caller stops after the last."""
        for line in self.channel.exchange(text, limit):
            if line == "error" or line.startswith("error "):
                raise WorkerRefusal(self.name, request, line[6:] or "no reason given")
            yield line

    def _replies(self, request: str, last: str, limit: float) -> Iterator[str]:
        """Yield the lines of the reply before its last."""
        lines = self._lines(request, f"{request}\n".encode(), limit)
        return takewhile(lambda line: line != last, lines)

    def _leave(self, request: str, text: bytes) -> None:
        # One that has not answered yet may still be starting.
        limit = self.limits.hello if self.announcement is None else 0.0
        with self._guarded(request):
            self.channel.leave(text, max(limit, self.limits.quit))
        self._ended = f"the worker was told to end by {request}"
        self.kill()
