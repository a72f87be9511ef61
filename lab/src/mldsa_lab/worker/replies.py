"""The lines that answer requests: an output, a trace, a sample or a link for each input.

`workers/PROTOCOL.md` is the definition. An input that failed has the line `failed INPUT TEXT`
instead, in every reply.
"""

from __future__ import annotations

from typing import TypeVar

from mldsa_lab.errors import LabError
from mldsa_lab.theory import trace
from mldsa_lab.worker.protocol import (
    DIGEST_BYTES,
    Link,
    Output,
    ProtocolError,
    Sample,
    parse_hex,
    parse_number,
    quote,
)

Reply = TypeVar("Reply", Output, Sample, Link)


def parse_output(line: str, operation: str) -> Output:
    """Parse `output INPUT HEX`; for keygen two values, pk and sk; of a trace `trace INPUT …`."""
    if failed := _failed(line, Output):
        return failed
    if operation == "trace":
        return _trace(line)
    keys = ("PK", "SK") if operation == "keygen" else ("HEX",)
    number_text, text, *rest = _words(line, " ".join(("output INPUT", *keys)))
    number = parse_number(number_text, "input number")
    value = parse_hex(text, f"output {number}")
    if operation == "verify" and value not in (b"\x00", b"\x01"):
        raise ProtocolError(f"output {number} of verify must be 00 or 01, got {quote(text)}")
    known = [key for key in rest if key != "-"]
    return Output(number, value, parse_hex(known[0], f"private key {number}") if known else None)


def _trace(line: str) -> Output:
    """Parse `trace INPUT ATTEMPT …`, the last attempt being `ok`."""
    attempts = line.split(" ")[2:]
    number_text, *_ = _words(line, "trace INPUT" + " ATTEMPT" * len(attempts))
    number = parse_number(number_text, "input number")
    try:
        return Output(number, trace=trace.parse_trace(attempts))
    except LabError as error:
        raise ProtocolError(f"trace {number}: {error}") from None


def parse_sample(line: str, phases: int = 0) -> Sample:
    """Parse `sample INPUT WALL CPU CALLS DIGEST`, behind it the ticks of so many phases."""
    if failed := _failed(line, Sample):
        return failed
    words = _words(line, "sample INPUT WALL CPU CALLS DIGEST" + " TICKS" * phases)
    wall = parse_number(words[1], "wall ticks")
    of_phases = tuple(parse_number(word, "ticks of a phase") for word in words[5:])
    if of_phases and sum(of_phases) != wall:
        raise ProtocolError(f"the phases of a sample must add up to its ticks, got {quote(line)}")
    return Sample(
        input=parse_number(words[0], "input number"),
        wall=wall,
        cpu=_cpu(words[2]),
        calls=parse_number(words[3], "calls"),
        digest=_digest(words[4], line),
        phases=of_phases,
    )


def parse_link(line: str, stages: int) -> Link:
    """Parse `link THREAD INPUT WALL CPU` with WALL and DIGEST of each stage."""
    if failed := _failed(line, Link):
        return failed
    words = _words(line, "link THREAD INPUT WALL CPU" + " WALL DIGEST" * stages)
    pairs = zip(words[4::2], words[5::2], strict=True)
    return Link(
        thread=parse_number(words[0], "thread"),
        input=parse_number(words[1], "input number"),
        wall=parse_number(words[2], "wall ticks"),
        cpu=_cpu(words[3]),
        stages=tuple((parse_number(w, "wall ticks"), _digest(d, line)) for w, d in pairs),
    )


def _failed(line: str, reply: type[Reply]) -> Reply | None:
    """Return the reply of `failed INPUT TEXT`; None for another line."""
    key, _, rest = line.partition(" ")
    if key != "failed":
        return None
    number, _, text = rest.partition(" ")
    if not text:
        raise ProtocolError(f"expected `failed INPUT TEXT`, got {quote(line)}")
    return reply(input=parse_number(number, "input number"), failure=text)


def _words(line: str, form: str) -> list[str]:
    """Return the words behind the first. ProtocolError unless the line has this form."""
    key, *words = line.split(" ")
    first, *wanted = form.split(" ")
    if key != first or len(words) != len(wanted):
        raise ProtocolError(f"expected `{form}` or `failed INPUT TEXT`, got {quote(line)}")
    return words


def _cpu(text: str) -> int | None:
    return None if text == "-" else parse_number(text, "CPU ticks")


def _digest(text: str, line: str) -> bytes:
    digest = parse_hex(text, "sample digest")
    if len(digest) != DIGEST_BYTES:
        raise ProtocolError(f"sample digest must be {DIGEST_BYTES} bytes, got {quote(line)}")
    return digest
