"""A child process spoken to in lines over its pipes, with time limits, that cannot deadlock.

One selector loop in the caller's thread serves all three pipes. So neither side can block the
other, however much is written, and the lab's process sleeps while a worker measures.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from mldsa_lab.worker.protocol import CONTROL, ProtocolError, decode_line, quote

_CHUNK_BYTES = 1 << 18
_STDERR_KEPT_BYTES = 16 * 1024
_STDERR_SHOWN_LINES = 5
_STDERR_SHOWN_CHARACTERS = 400
_NOTE = b"note "
_POLL_S = 1.0  # notices a dead process whose children keep its pipes open
_EXIT_WAIT_S = 5.0


class Channel:
    """One process in a session of its own, so that it and its children die together.

    Broken rules raise ProtocolError and leave the process as it is: the caller decides to kill it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        line_bytes: int,
    ) -> None:
        """Start the program; `env` is added to this process's environment.

        OSError or ValueError if it cannot be started.
        """
        self._line_bytes = line_bytes
        self._searched = 0  # bytes received that are known to have no line end
        self._process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=None if env is None else {**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin and stdout and stderr  # all three are pipes
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        for stream in (stdin, stdout, stderr):
            os.set_blocking(stream.fileno(), False)
        self._received = bytearray()  # standard output not yet taken as lines
        self._complaints = bytearray()  # the end of standard error
        self._unheard = bytearray()  # what follows its last line end
        self.on_note: Callable[[str], None] = lambda text: None
        """Gets each line of standard error that begins with `note `, as soon as it is read."""
        self._open = {stdout: self._received, stderr: self._complaints}

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr_tail(self) -> str:
        """The last lines of the process's standard error, joined by ` | `."""
        if not self._stderr.closed:
            self._read(self._stderr)
        text = self._complaints.decode("utf-8", "replace")
        lines = [_shown(line) for line in text.splitlines()]
        shown = " | ".join([line for line in lines if line][-_STDERR_SHOWN_LINES:])
        return (
            shown
            if len(shown) <= _STDERR_SHOWN_CHARACTERS
            else "…" + shown[-_STDERR_SHOWN_CHARACTERS:]
        )

    def exchange(self, text: bytes, limit: float) -> Iterator[str]:
        """Send the text and yield the lines of the reply; the caller knows which is the last.

        ProtocolError if the last is not there within `limit` seconds, or the process ends before.
        Also for a line that is no text or too long, and for output before the request.
        """
        self._refuse_unasked()
        deadline = time.monotonic() + limit
        pending = memoryview(text)
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            if pending:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            while True:
                for line in self._lines():
                    if pending:
                        raise ProtocolError(f"answered before the request's end: {quote(line)}")
                    yield line
                if self._stdout not in self._open:
                    raise ProtocolError(self._exit_text())
                left = deadline - time.monotonic()
                if left <= 0:
                    asked = quote(text.partition(b"\n")[0].decode("utf-8", "replace"))
                    raise ProtocolError(f"no whole reply within {limit:g} s to {asked}")
                events = selector.select(min(left, _POLL_S))
                if not events and self._exited():
                    self._open.pop(self._stdout, None)
                for key, _ in events:
                    pending = self._serve(selector, key.fileobj, pending)

    def leave(self, text: bytes, limit: float) -> None:
        """Send the text, close the standard input and wait for the end with status 0."""
        self._refuse_unasked()
        with contextlib.suppress(OSError):
            if text:
                os.write(self._stdin.fileno(), text)  # a few bytes into an empty pipe
            self._stdin.close()
        self._drain(limit)
        if self._received:
            raise ProtocolError("the worker spoke after it was told to end")
        self._kill_group()
        status = self._process.wait()
        if status != 0:
            raise ProtocolError(f"the worker ended with {_status(status)} instead of status 0")

    def kill(self) -> None:
        """Kill the process group and reap the process. May be called at any time."""
        self._kill_group()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_WAIT_S)
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()

    def _register(self, selector: selectors.BaseSelector) -> None:
        for stream in self._open:
            selector.register(stream, selectors.EVENT_READ)

    def _serve(
        self, selector: selectors.BaseSelector, stream: object, pending: memoryview
    ) -> memoryview:
        for output in (self._stdout, self._stderr):
            if stream is output:
                self._read(output)
                if output not in self._open:
                    selector.unregister(output)
                return pending
        try:
            pending = pending[os.write(self._stdin.fileno(), pending[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return pending
        except OSError:  # it closed its input: its output or its status will say why
            selector.unregister(self._stdin)
            return pending
        if not pending:
            selector.unregister(self._stdin)
        return pending

    def _read(self, stream: IO[bytes]) -> None:
        """Take the bytes that can be read; at its end the stream is no longer open."""
        if stream not in self._open:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(stream.fileno(), _CHUNK_BYTES)
            self._open[stream] += data
            if stream is self._stderr:
                self._hear(data)
            if not data:
                del self._open[stream]
        del self._complaints[:-_STDERR_KEPT_BYTES]

    def _hear(self, data: bytes) -> None:
        *lines, rest = bytes(self._unheard + data).split(b"\n")
        self._unheard = bytearray(rest[:_STDERR_KEPT_BYTES])
        for line in lines:
            if line.startswith(_NOTE):
                text = line[len(_NOTE) :].decode("utf-8", "replace")[:_STDERR_SHOWN_CHARACTERS]
                self.on_note(_shown(text))

    def _lines(self) -> Iterator[str]:
        """Take the whole lines out of the received bytes."""
        while True:
            end = self._received.find(b"\n", self._searched)
            length = len(self._received) if end < 0 else end
            if length > self._line_bytes:
                raise ProtocolError(f"a line is longer than {self._line_bytes} bytes")
            if end < 0:
                self._searched = length
                return
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._searched = 0
            yield decode_line(line)

    def _refuse_unasked(self) -> None:
        """A worker never speaks unasked: whatever is there before a request is out of step."""
        self._read(self._stdout)
        if self._received:
            line = bytes(self._received).partition(b"\n")[0].decode("utf-8", "replace")
            raise ProtocolError(f"the worker spoke unasked: {quote(line)}")

    def _exited(self) -> bool:
        """Return whether the worker has ended; where the system can, without reaping it."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, flags) is not None
        except ChildProcessError:
            return True

    def _exit_text(self) -> str:
        deadline = time.monotonic() + _EXIT_WAIT_S
        while not self._exited():
            if time.monotonic() > deadline:
                return "it closed its standard output but did not end"
            time.sleep(0.01)
        with contextlib.suppress(OSError):
            self._read(self._stderr)
        self._kill_group()
        return f"the worker ended with {_status(self._process.wait())} before its reply was whole"

    def _kill_group(self) -> None:
        # Once the leader is reaped its id may belong to another group.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _drain(self, limit: float) -> None:
        """Read until the worker has ended."""
        deadline = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while not self._exited():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ProtocolError(f"the worker did not end within {limit:g} s")
                if not selector.get_map():  # both outputs are closed already
                    time.sleep(0.01)
                    continue
                for key, _ in selector.select(min(left, 0.05)):
                    self._serve(selector, key.fileobj, memoryview(b""))
        self._read(self._stdout)


def _shown(line: str) -> str:
    return CONTROL.sub(" ", line).strip()


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-status).name}"
    return f"signal {-status}"
