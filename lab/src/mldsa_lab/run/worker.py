"""A running worker process, and the requests of `workers/PROTOCOL.md` as methods.

All three pipes are served by one selector loop in the caller's thread, so neither side can block
the other however much is written, and the lab's process sleeps while a worker measures.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from mldsa_lab.errors import LabError
from mldsa_lab.run import protocol
from mldsa_lab.run.protocol import Announcement, JobInput, Output, ProtocolError, Sample

_CHUNK_BYTES = 1 << 18
_STDERR_KEPT_BYTES = 16 * 1024
_STDERR_SHOWN_LINES = 5
_STDERR_SHOWN_CHARACTERS = 400
_POLL_S = 1.0  # notices a dead worker whose children still hold its pipes open
_EXIT_WAIT_S = 5.0


class WorkerFault(LabError):
    """The worker broke the protocol, timed out or ended. Its process group has been killed."""

    def __init__(self, worker: str, request: str, rule: str) -> None:
        super().__init__(f"worker {worker}, request {request}: {rule}")
        self.worker = worker
        self.request = request
        self.rule = rule


class WorkerRefusal(LabError):
    """The worker answered `error TEXT`: the request failed, the worker lives on."""

    def __init__(self, worker: str, request: str, text: str) -> None:
        super().__init__(f"worker {worker}, request {request}: the worker refused: {text}")
        self.worker = worker
        self.request = request
        self.text = text


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

    A fault, an interrupt or any other exception in the middle of a request kills the worker's whole
    process group and leaves no zombie; afterwards every request raises WorkerFault.
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.announcement: Announcement | None = None
        self._process = process
        self._jobs: dict[int, _Job] = {}
        self._received = bytearray()  # standard output not yet taken as lines
        self._searched = 0  # bytes of _received known to hold no line end
        self._stderr = bytearray()
        self._output_open = True
        self._stderr_open = True
        self._ended: str | None = None  # why the worker is gone
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

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
        """Starts the program in a session of its own, so that it and its children die together.

        `env` is added to this process's environment. Raises WorkerFault if it cannot be started.
        """
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=None if env is None else {**os.environ, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise WorkerFault(name, "start", f"cannot run {argv[0]}: {error}") from None
        return cls(name, process, limits or Limits())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self.alive:
            with contextlib.suppress(WorkerFault):
                self.quit()
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether requests can still be made."""
        return self._ended is None

    @property
    def stderr_tail(self) -> str:
        """The last lines of the worker's standard error, joined by ` | `."""
        text = self._stderr.decode("utf-8", "replace")
        lines = [re.sub(r"[\x00-\x1f\x7f]+", " ", line).strip() for line in text.splitlines()]
        shown = " | ".join([line for line in lines if line][-_STDERR_SHOWN_LINES:])
        return (
            shown
            if len(shown) <= _STDERR_SHOWN_CHARACTERS
            else "…" + shown[-_STDERR_SHOWN_CHARACTERS:]
        )

    # --- requests -------------------------------------------------------------------------------

    def hello(self, *, timeout: float | None = None) -> Announcement:
        """Asks for the announcement and keeps it as `announcement`."""
        lines: list[str] = []

        def take(line: str) -> bool:
            if line == "end":
                return True
            lines.append(line)
            return False

        with self._guarded("hello"):
            limit = self.limits.hello if timeout is None else timeout
            self._exchange("hello", f"hello {protocol.PROTOCOL_VERSION}\n".encode(), take, limit)
            self.announcement = protocol.parse_hello(lines)
        return self.announcement

    def prepare(
        self,
        job: int,
        variant: str,
        set_name: str,
        operation: str,
        inputs: Sequence[JobInput],
        *,
        timeout: float | None = None,
    ) -> None:
        """Hands over a job's inputs; a job of the same number is replaced."""
        text = protocol.format_prepare(job, variant, set_name, operation, inputs)
        limit = self.limits.prepare if timeout is None else timeout
        self._acknowledged(f"prepare {job}", text, f"ready {job}", limit)
        self._jobs[job] = _Job(operation, tuple(item.id for item in inputs))

    def answer(self, job: int, *, timeout: float | None = None) -> dict[int, Output]:
        """Each input's output, performed once and untimed, by input number in the job's order."""
        known = self._job(job)
        outputs: dict[int, Output] = {}

        def take(line: str) -> bool:
            if line == f"done {job}":
                return True
            output = protocol.parse_output(line, known.operation)
            _in_order(output.input, known.inputs, len(outputs), len(known.inputs))
            outputs[output.input] = output
            return False

        self._listed(f"answer {job}", take, lambda: len(outputs), len(known.inputs), timeout)
        return outputs

    def trace(self, job: int, *, timeout: float | None = None) -> dict[int, list[str]]:
        """The attempts of each input of a `trace` job as text, by input number.

        Raises WorkerRefusal where the implementation failed on an input.
        """
        known = self._job(job)
        traces: dict[int, list[str]] = {}
        failures: list[str] = []

        def take(line: str) -> bool:
            if line == f"done {job}":
                return True
            if line.startswith("failed "):
                output = protocol.parse_output(line, "trace")
                number, attempts = output.input, [""]
                failures.append(f"input {number} failed: {output.failure}")
            else:
                number, attempts = protocol.parse_trace(line)
            _in_order(number, known.inputs, len(traces), len(known.inputs))
            traces[number] = attempts
            return False

        self._listed(f"answer {job}", take, lambda: len(traces), len(known.inputs), timeout)
        if failures:
            raise WorkerRefusal(self.name, f"answer {job}", failures[0])
        return traces

    def measure(
        self, job: int, passes: int, calls: int, warmup: int, *, timeout: float | None = None
    ) -> list[Sample]:
        """`passes` samples of each input, of `calls` calls each, in the order they were taken.

        `warmup` is in ticks of the worker's `clock`.
        """
        known = self._job(job)
        total = passes * len(known.inputs)
        has_cpu = None if self.announcement is None else self.announcement.cpu_clock is not None
        samples: list[Sample] = []

        def take(line: str) -> bool:
            if line == f"done {job}":
                return True
            sample = protocol.parse_sample(line)
            _in_order(sample.input, known.inputs, len(samples), total)
            if sample.failure is None:
                if sample.calls != calls:
                    raise ProtocolError(f"a sample must be of {calls} calls, got {sample.calls}")
                if has_cpu is not None and has_cpu != (sample.cpu is not None):
                    raise ProtocolError("CPU ticks must be `-` exactly where cpu_clock is `none`")
            samples.append(sample)
            return False

        request = f"measure {job} {passes} {calls} {warmup}"
        limit = self.limits.measure if timeout is None else timeout
        self._listed(request, take, lambda: len(samples), total, limit)
        return samples

    def forget(self, job: int, *, timeout: float | None = None) -> None:
        """Frees the job."""
        limit = self.limits.forget if timeout is None else timeout
        self._acknowledged(f"forget {job}", f"forget {job}\n".encode(), f"done {job}", limit)
        self._jobs.pop(job, None)

    def raw(self, text: str, last: Callable[[str], bool], *, timeout: float) -> list[str]:
        """Sends the text as it is and returns the lines up to the first for which `last` holds.

        For the conformance checks, which ask what a well-behaved client never would. An `error`
        line raises WorkerRefusal as in every request.
        """
        lines: list[str] = []

        def take(line: str) -> bool:
            lines.append(line)
            return last(line)

        label = protocol.quote(text.partition("\n")[0])
        with self._guarded(label):
            self._exchange(label, text.encode(), take, timeout)
        return lines

    def quit(self) -> None:
        """Sends `quit` and waits for the end; a status other than 0 is a fault."""
        self._leave("quit", b"quit\n")

    def end_of_input(self) -> None:
        """Closes the worker's standard input and waits for its end, as `quit` does."""
        self._leave("end of input", b"")

    def kill(self) -> None:
        """Kills the worker's process group and reaps the worker. May be called at any time."""
        if self._ended is None:
            self._ended = "the worker was ended"
        self._kill_group()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_WAIT_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    # --- the parts ------------------------------------------------------------------------------

    def _job(self, job: int) -> _Job:
        if job not in self._jobs:
            raise LabError(f"worker {self.name}: job {job} has not been prepared")
        return self._jobs[job]

    def _acknowledged(self, request: str, text: bytes, reply: str, limit: float) -> None:
        def take(line: str) -> bool:
            if line != reply:
                raise ProtocolError(f"expected `{reply}`, got {protocol.quote(line)}")
            return True

        with self._guarded(request):
            self._exchange(request, text, take, limit)

    def _listed(
        self,
        request: str,
        take: Callable[[str], bool],
        count: Callable[[], int],
        total: int,
        timeout: float | None,
    ) -> None:
        with self._guarded(request):
            limit = self.limits.answer if timeout is None else timeout
            self._exchange(request, f"{request}\n".encode(), take, limit)
            if count() != total:
                raise ProtocolError(
                    f"the reply must have {total} lines before its last, got {count()}"
                )

    @contextlib.contextmanager
    def _guarded(self, request: str) -> Iterator[None]:
        """Turns a broken rule into a fault; any other exception but a refusal kills the worker."""
        if self._ended is not None:
            raise WorkerFault(self.name, request, f"not sent: {self._ended}")
        try:
            yield
        except WorkerRefusal:
            raise
        except ProtocolError as error:
            raise self._fault(request, str(error)) from None
        except BaseException:
            self.kill()
            raise

    def _fault(self, request: str, rule: str) -> WorkerFault:
        """Ends the worker, and the fault that says why."""
        with contextlib.suppress(OSError):
            self._read_stderr()
        self._ended = f"ended by an earlier fault: {rule}"
        self.kill()
        if tail := self.stderr_tail:
            rule += f"; its standard error: {tail}"
        return WorkerFault(self.name, request, rule)

    def _exchange(
        self, request: str, text: bytes, take: Callable[[str], bool], limit: float
    ) -> None:
        """Sends the text and hands each reply line to `take` until it returns True."""
        self._refuse_unasked()
        deadline = time.monotonic() + limit
        pending = memoryview(text)
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            if pending:
                selector.register(_stream(self._process.stdin), selectors.EVENT_WRITE)
            while True:
                for line in self._lines():
                    if pending:
                        raise ProtocolError(
                            f"answered before the request's end: {protocol.quote(line)}"
                        )
                    if line == "error" or line.startswith("error "):
                        raise WorkerRefusal(self.name, request, line[6:] or "no reason given")
                    if take(line):
                        return
                if not self._output_open:
                    raise ProtocolError(self._exit_text())
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ProtocolError(f"no whole reply within {limit:g} s")
                events = selector.select(min(left, _POLL_S))
                if not events and self._exited():
                    self._output_open = False
                for key, _ in events:
                    pending = self._serve(selector, key.fileobj, pending)

    def _register(self, selector: selectors.BaseSelector) -> None:
        if self._output_open:
            selector.register(_stream(self._process.stdout), selectors.EVENT_READ)
        if self._stderr_open:
            selector.register(_stream(self._process.stderr), selectors.EVENT_READ)

    def _serve(
        self, selector: selectors.BaseSelector, stream: object, pending: memoryview
    ) -> memoryview:
        if stream is self._process.stdout:
            self._read_output()
            if not self._output_open:
                selector.unregister(_stream(self._process.stdout))
        elif stream is self._process.stderr:
            self._read_stderr()
            if not self._stderr_open:
                selector.unregister(_stream(self._process.stderr))
        else:
            stdin = _stream(self._process.stdin)
            try:
                pending = pending[os.write(stdin.fileno(), pending[:_CHUNK_BYTES]) :]
            except BlockingIOError:
                return pending
            except OSError:  # it closed its input: its output or its status will say why
                selector.unregister(stdin)
                return pending
            if not pending:
                selector.unregister(stdin)
        return pending

    def _read_output(self) -> None:
        data = _read(_stream(self._process.stdout))
        if data is None:
            return
        self._output_open = bool(data)
        self._received += data

    def _read_stderr(self) -> None:
        data = _read(_stream(self._process.stderr))
        if data is None:
            return
        self._stderr_open = bool(data)
        self._stderr += data
        del self._stderr[:-_STDERR_KEPT_BYTES]

    def _lines(self) -> Iterator[str]:
        """Takes the whole lines out of what was received."""
        while True:
            end = self._received.find(b"\n", self._searched)
            length = len(self._received) if end < 0 else end
            if length > self.limits.line_bytes:
                raise ProtocolError(f"a line is longer than {self.limits.line_bytes} bytes")
            if end < 0:
                self._searched = length
                return
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._searched = 0
            yield protocol.decode_line(line)

    def _refuse_unasked(self) -> None:
        """A worker never speaks unasked: whatever is there before a request is out of step."""
        if self._output_open:
            self._read_output()
        if self._received:
            line = bytes(self._received).partition(b"\n")[0].decode("utf-8", "replace")
            raise ProtocolError(f"the worker spoke unasked: {protocol.quote(line)}")

    def _exited(self) -> bool:
        """Whether the worker has ended; where the system can, without reaping it."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None

    def _exit_text(self) -> str:
        deadline = time.monotonic() + _EXIT_WAIT_S
        while not self._exited():
            if time.monotonic() > deadline:
                return "it closed its standard output but did not end"
            time.sleep(0.01)
        with contextlib.suppress(OSError):
            self._read_stderr()
        self._kill_group()
        return f"the worker ended with {_status(self._process.wait())} before its reply was whole"

    def _kill_group(self) -> None:
        # Once the leader is reaped its id may belong to another group.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _leave(self, request: str, text: bytes) -> None:
        with self._guarded(request):
            self._refuse_unasked()
            stdin = _stream(self._process.stdin)
            with contextlib.suppress(OSError):
                if text:
                    os.write(stdin.fileno(), text)  # five bytes into an empty pipe
                stdin.close()
            self._drain(self.limits.quit)
            if self._received:
                raise ProtocolError("the worker spoke after it was told to end")
            self._kill_group()
            status = self._process.wait()
            if status != 0:
                raise ProtocolError(f"the worker ended with {_status(status)} instead of status 0")
        self._ended = f"the worker was told to end by {request}"
        self.kill()

    def _drain(self, limit: float) -> None:
        """Reads until the worker has ended."""
        deadline = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while not self._exited():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ProtocolError(f"the worker did not end within {limit:g} s")
                if not selector.get_map():
                    time.sleep(0.01)
                for key, _ in selector.select(min(left, 0.05)) if selector.get_map() else []:
                    self._serve(selector, key.fileobj, memoryview(b""))
        if self._output_open:
            self._read_output()


def _in_order(number: int, inputs: tuple[int, ...], position: int, total: int) -> None:
    if position >= total:
        raise ProtocolError(f"more than {total} lines in the reply: input {number} again")
    expected = inputs[position % len(inputs)]
    if number != expected:
        raise ProtocolError(f"inputs must be answered in order: expected {expected}, got {number}")


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # all three are pipes
    return stream


def _read(stream: IO[bytes]) -> bytes | None:
    """What is there to read: empty at the end of the stream, None where there is nothing yet."""
    try:
        return os.read(stream.fileno(), _CHUNK_BYTES)
    except BlockingIOError:
        return None


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-status).name}"
    return f"signal {-status}"
