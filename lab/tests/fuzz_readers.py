"""Fuzzing of the lab's readers: documents that are right, bent at random. A reader reads a bent one
or raises LabError; anything else is a finding, and so is a reader that does not end.

`MLDSA_FUZZ_SECONDS` is the time of each reader (half a second if it is not set),
`MLDSA_FUZZ_SEED` repeats a session.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import measure_cases as cases
from fake_worker import HELLO

from mldsa_lab import LabError
from mldsa_lab.audit.reading import examples, parse_claims
from mldsa_lab.bench.options import read_block
from mldsa_lab.estimate.reader import read_measurements
from mldsa_lab.inputs.pool import FromFile, read_pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.records.record import read_record
from mldsa_lab.sets import parameter_set
from mldsa_lab.study.file import read_study
from mldsa_lab.theory.law import CostModel
from mldsa_lab.worker import protocol
from mldsa_lab.worker.protocol import parse_link, parse_output, parse_sample
from mldsa_lab.worker.registry import read_registry

ROOT = Path(__file__).parents[2]
DATA = ROOT / "lab" / "src" / "mldsa_lab" / "data"


@dataclass(frozen=True)
class Reader:
    """A reader of files with this ending, and documents that it reads."""

    suffix: str
    read: Callable[[Path], object]
    documents: Callable[[], list[bytes]]


@cache
def record() -> list[bytes]:
    """The head of a published record, and its last line, in which it ends."""
    path = ROOT / "records/2026-11-22-epyc-zen4-jmh/process-1.jsonl.xz"
    lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
    short = [line for line in lines if len(line) < 20_000]
    return [b"".join(short[:40]), b"".join([*short[:12], short[-1]])]


@cache
def chosen() -> Selection:
    """The selection that the measurements are of."""
    return cases.selection("ML-DSA-65", cases.pool("ML-DSA-65")[:3])


def measurements() -> list[bytes]:
    csv = "# a board\nid,cost,unit,round\n1,700,cycles,0\n2,1200,cycles,0\n3,1.5e3,cycles,1\n"
    rows = [{"id": i, "cost": 5 * i, "unit": "ns", "round": 0} for i in (1, 2, 3)]
    return [csv.encode(), json.dumps(rows).encode()]


def read_either(path: Path) -> None:
    """Measurements as CSV and as JSON: what is wrong as the one may be right as the other."""
    twin = path.with_suffix(".json")
    twin.write_bytes(path.read_bytes())
    for file in (path, twin):
        try:
            read_measurements(file, chosen())
        except LabError:
            continue


def reply(path: Path) -> None:
    """Each line of a file as every kind of reply."""
    for line in path.read_bytes().decode("ascii", "replace").splitlines():
        for parse in (
            parse_sample,
            lambda line: parse_output(line, "trace"),
            lambda line: parse_link(line, 2),
            lambda line: parse_output(line, "keygen"),
            lambda line: parse_output(line, "verify"),
        ):
            try:
                parse(line)
            except LabError:
                continue


def replies() -> list[bytes]:
    digest = "ab" * 32
    return [
        f"sample 0 1234 1200 1 {digest}\nfailed 1 a reason\nsample 2 5 - 1 {digest}\n".encode(),
        b"output 0 00\noutput 3 0a0b -\noutput 1 0011 2233\ntrace 0 z0 r1 ok\nfailed 2 no\n",
        f"link 0 1 100 90 50 {digest} 50 {digest}\nlink 1 0 9 - 4 {digest} 5 -\n".encode(),
    ]


def files(folder: str, pattern: str) -> Callable[[], list[bytes]]:
    """The files of this repository that match."""
    return lambda: [path.read_bytes() for path in sorted((ROOT / folder).glob(pattern))]


def costs() -> list[bytes]:
    return [CostModel(20.0, 5.0, 7.5, 9.0, "us", "measured", "ML-DSA-44").to_json().encode()]


def read_inputs(path: Path) -> None:
    list(FromFile(path, "ML-DSA-44").blocks(8))


def signing_inputs() -> list[bytes]:
    sk = "00" * parameter_set("ML-DSA-44").private_key_bytes
    lines = [{"id": i, "sk": sk, "message": "0a0b"} for i in range(3)]
    seeds = [{"xi": f"{i:064x}", "message": "", "context": "0c"} for i in range(3)]
    return ["".join(json.dumps(line) + "\n" for line in rows).encode() for rows in (lines, seeds)]


def signing_inputs_csv() -> list[bytes]:
    rows = [f"{i},{i:064x},0a0b,{i:064x}" for i in range(3)]
    return ["\n".join(["id,xi,message,rnd", *rows]).encode()]


def read_hello(path: Path) -> None:
    text = path.read_bytes().decode("ascii", "replace")
    protocol.parse_hello(text.removesuffix("end\n").splitlines())


READERS = {
    "record": Reader(".jsonl", read_record, record),
    "selection": Reader(
        ".json", Selection.read, files("lab/src/mldsa_lab/data/selections/ml-dsa-44", "*-[12].json")
    ),
    "claims": Reader(
        ".yaml",
        lambda path: parse_claims(path.read_bytes().decode("utf-8", "replace"), "claims"),
        lambda: [path.read_bytes() for path in examples().values()],
    ),
    "measurements": Reader(".csv", read_either, measurements),
    "study": Reader(".toml", read_study, files("lab/studies", "[bjp]*[ehm].toml")),
    "registry": Reader(".toml", read_registry, files("lab/workers", "registry.toml")),
    "block": Reader(
        ".toml",
        lambda path: read_block(str(path), "quick"),
        files("lab/scenarios/blocks", "*.toml"),
    ),
    "costs": Reader(".json", CostModel.read, costs),
    "inputs": Reader(".jsonl", read_inputs, signing_inputs),
    "inputs-csv": Reader(".csv", read_inputs, signing_inputs_csv),
    "pool": Reader(".parquet", read_pool, files("lab/src/mldsa_lab/data/pools", "*44*.parquet")),
    "hello": Reader(".txt", read_hello, lambda: [HELLO.encode()]),
    "reply": Reader(".txt", reply, replies),
}

TOKEN = re.compile(rb'[\w.+-]+|"[^"]*"|\s+|.', re.DOTALL)
NASTY = [
    *(b"", b"0", b"-1", b"1.5", b"1e999", b"-0.0", b"nan", b"inf", b"null", b"true", b'""', b"[]"),
    *(b"{}", b"-", b"[[[[", b"}", b'"', b"\n", b"\0", b"\xff\xfe", b"\xed\xa0\x80", "é½".encode()),
    *(b"9" * 30, b"9" * 5000, b"0x1F", b"1979-05-27", b"'", b"&a", b"*a", b"!!int x", b"00"),
    *(
        b'"\\ud800"',
        b"18446744073709551616",
        b"-9223372036854775809",
        b"[" * 3000,
        b"1_0",
        b"=",
        b",",
    ),
]


def bend(document: bytes, numbers: random.Random) -> bytes:
    """One to four changes: of tokens, of lines, of bytes."""
    for _ in range(numbers.randint(1, 4)):
        kind = numbers.randrange(8)
        if kind < 4:
            tokens = TOKEN.findall(document) or [b""]
            at = numbers.randrange(len(tokens))
            other = numbers.choice(tokens)
            tokens[at] = numbers.choice([b"", other, tokens[at] * 2, numbers.choice(NASTY)])
            document = b"".join(tokens)
        elif kind < 6:
            lines = document.splitlines(keepends=True) or [b""]
            at, to = numbers.randrange(len(lines)), numbers.randrange(len(lines))
            if numbers.random() < 0.5:
                lines.insert(to, lines[at])
            else:
                lines.insert(to, lines.pop(at))
            document = b"".join(lines)
        elif kind == 6:
            document = document[: numbers.randrange(len(document) + 1)]
        else:
            changed = bytearray(document or b" ")
            changed[numbers.randrange(len(changed))] ^= 1 << numbers.randrange(8)
            document = bytes(changed)
    return document


@dataclass(frozen=True)
class Finding:
    """A document on which a reader raised something that a user must not see."""

    reader: str
    document: bytes
    error: BaseException

    def __str__(self) -> str:
        shown = self.document if len(self.document) < 3000 else self.document[:3000] + b"..."
        return f"{self.reader}: {type(self.error).__name__}: {self.error}\n{shown!r}"


def session(
    name: str, reader: Reader, folder: Path, seconds: float, seed: int
) -> tuple[int, Finding | None]:
    """Read bent documents until the time is up; return their number and the first finding."""
    documents = reader.documents()
    assert documents, name
    numbers = random.Random(f"{name} {seed}")
    path = folder / f"document{reader.suffix}"
    for document in documents:
        path.write_bytes(document)
        reader.read(path)
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        document = bend(numbers.choice(documents), numbers)
        path.write_bytes(document)
        try:
            reader.read(path)
        except LabError:
            pass
        except Exception as error:
            return count, Finding(name, document, error)
        count += 1
    return count, None


def seconds() -> float:
    return float(os.environ.get("MLDSA_FUZZ_SECONDS", "0.5"))


def seed() -> int:
    return int(os.environ.get("MLDSA_FUZZ_SEED", time.time_ns()))


def fuzz(name: str, reader: Reader, folder: Path) -> None:
    """Assert that a bounded session finds nothing."""
    chosen = seed()
    count, finding = session(name, reader, folder, seconds(), chosen)
    assert finding is None, f"MLDSA_FUZZ_SEED={chosen}: {finding}"
    assert count > 0
