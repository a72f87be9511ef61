"""Traces from library/crates/mldsa-trace: its C interface, and pools traced on all cores.

The library (include/mldsa_trace.h) is built when needed and called in process. Calls release
Python's lock, use one thread each, and keep nothing between them. Blocks of a pool are traced side
by side and kept in order.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice, tee
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from mldsa_lab import LabError, parallel
from mldsa_lab.checkout import GET_CHECKOUT, SHIPPED, find_root, find_target, run_tool
from mldsa_lab.inputs.input import Input, Outputs, Spec
from mldsa_lab.inputs.pool import (
    ROWS,
    Block,
    Checks,
    Generated,
    Pool,
    PoolWriter,
    Source,
    join_pools,
    read_parts,
    read_pool,
)
from mldsa_lab.parallel import WorkerPool, WorkItem
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import PASSED, TraceTable

# The tracing library.


CRATE = "mldsa-trace"
"""The crate that makes it."""

_ABI = 3
# Of enum mldsa_trace_error.
_ERROR_BUFFER = 8
_ERROR_KEY = 12

_bytes_p = ctypes.POINTER(ctypes.c_uint8)
_u16_p = ctypes.POINTER(ctypes.c_uint16)
_u32_p = ctypes.POINTER(ctypes.c_uint32)
_u64_p = ctypes.POINTER(ctypes.c_uint64)
_size_p = ctypes.POINTER(ctypes.c_size_t)


class LibraryMissing(LabError):
    """The library was never built, and there is no cargo to build it."""


class Library:
    """The loaded library. `load` makes it."""

    def __init__(self, path: Path) -> None:
        """LabError if the file is no library of this ABI."""
        try:
            library = ctypes.CDLL(str(path))
            library.mldsa_trace_abi.restype = ctypes.c_int32
            abi = int(library.mldsa_trace_abi())
        except (OSError, AttributeError) as error:
            raise LabError(f"library {path}: cannot be loaded: {error}") from None
        if abi != _ABI:
            raise LabError(f"library {path}: has ABI {abi}, this lab needs {_ABI}")
        library.mldsa_trace_backend.restype = ctypes.c_char_p
        library.mldsa_trace_error_string.restype = ctypes.c_char_p
        library.mldsa_trace_run.restype = ctypes.c_int32
        signed = (ctypes.c_char_p, _u64_p, ctypes.c_char_p)
        library.mldsa_trace_run.argtypes = (
            *(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32),
            *(ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, _u32_p),
            *signed,
            *(ctypes.c_size_t, _u16_p, _u64_p, _size_p),
        )
        library.mldsa_trace_sign.restype = ctypes.c_int32
        library.mldsa_trace_sign.argtypes = (
            *(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_char_p),
            *signed,
            *(_bytes_p, _bytes_p, _bytes_p),
        )
        self._library = library

    @property
    def backend(self) -> str:
        """The backend that works, such as ``avx2``."""
        return str(self._library.mldsa_trace_backend().decode("ascii"))

    def trace(
        self, set_name: str, inputs: Sequence[Input], checks: Checks = "reached"
    ) -> TraceTable:
        """The traces of signing these inputs, in their order. Consecutive inputs with one key
        share its expansion. LabError if a private key is none that key generation writes."""
        runs = [(key, len(list(run))) for key, run in groupby(inputs, key=lambda item: item.key)]
        keys = [key for key, _ in runs]
        lengths = np.array([length for _, length in runs], dtype=np.int64)
        key_numbers = np.repeat(np.arange(len(keys), dtype=np.uint32), lengths)
        signed = _join_signed(inputs)
        code_ends = np.empty(len(inputs), dtype=np.uint64)
        needed = ctypes.c_size_t()
        room = int(2 * len(inputs) * RejectionModel.for_set(set_name).expected_iterations) + 1024
        while True:
            codes = np.empty(room, dtype=np.uint16)
            status = self._library.mldsa_trace_run(
                _set_number(set_name),
                int(checks == "all"),
                _find_form(inputs),
                len(keys),
                b"".join(keys),
                len(inputs),
                key_numbers.ctypes.data_as(_u32_p),
                *signed,
                room,
                codes.ctypes.data_as(_u16_p),
                code_ends.ctypes.data_as(_u64_p),
                ctypes.byref(needed),
            )
            if status != _ERROR_BUFFER:
                break
            room = needed.value
        self._check(status, "tracing", set_name, inputs)
        used = int(code_ends[-1]) if len(inputs) else 0
        return TraceTable(set_name, codes[:used].copy(), code_ends.astype(np.int64))

    def sign(self, set_name: str, inputs: Sequence[Input]) -> list[Outputs]:
        """Keys and signature of each input, in order; LabError as of `trace`."""
        p = parameter_set(set_name)
        sizes = (p.public_key_bytes, p.private_key_bytes, p.signature_bytes)
        out = [np.empty((len(inputs), size), dtype=np.uint8) for size in sizes]
        status = self._library.mldsa_trace_sign(
            _set_number(set_name),
            _find_form(inputs),
            len(inputs),
            b"".join(item.key for item in inputs),
            *_join_signed(inputs),
            *(array.ctypes.data_as(_bytes_p) for array in out),
        )
        self._check(status, "signing", set_name, inputs)
        return [Outputs(*(bytes(row) for row in rows)) for rows in zip(*out, strict=True)]

    def make(self, set_name: str, inputs: Sequence[Input]) -> tuple[Input, ...]:
        """These inputs with traces of every check, keys and signatures; LabError as of `trace`."""
        traces = self.trace(set_name, inputs, "all").traces()
        rows = zip(inputs, traces, self.sign(set_name, inputs), strict=True)
        return tuple(
            replace(i, trace=trace, pk=o.pk, sk=o.sk, output=o.signature, known_digests=None)
            for i, trace, o in rows
        )

    def _check(self, status: int, doing: str, set_name: str, inputs: Sequence[Input]) -> None:
        """LabError if a status is not 0."""
        if not status:
            return
        why = str(self._library.mldsa_trace_error_string(status).decode("ascii"))
        if status == _ERROR_KEY and len(inputs) > 1:
            for number, item in enumerate(inputs):
                try:
                    self.sign(set_name, [item])
                except LabError:
                    why = f"number {number} of them, from 0: {why}"
                    break
        raise LabError(f"{doing} {len(inputs)} inputs of {set_name}: {why}")


def _find_form(inputs: Sequence[Input]) -> int:
    """The form of their keys, as mldsa_trace.h has it; LabError if there are both."""
    forms = {int(item.seed is None) for item in inputs} or {0}
    if len(forms) > 1:
        raise LabError("inputs: their keys must all be given as seed xi, or all as private key sk")
    return forms.pop()


def _join_signed(inputs: Sequence[Input]) -> tuple[bytes, Any, bytes | None]:
    """Return the signed data as both calls take it.

    It is all messages and contexts in one string, the end of each, and all rnd, or nothing where
    these are zero.
    """
    parts = [part for item in inputs for part in (item.message, item.context)]
    rnd = b"".join(item.signing_rnd for item in inputs)
    ends = np.cumsum([len(part) for part in parts], dtype=np.uint64)
    # The pointer keeps the array.
    return b"".join(parts), ends.ctypes.data_as(_u64_p), rnd if any(rnd) else None


def _set_number(set_name: str) -> int:
    return int(parameter_set(set_name).name.rpartition("-")[2])


def library_path(root: Path) -> Path:
    """Where the library of the tree at ``root`` is built by itself, or the wheel has it."""
    if root == SHIPPED:
        return root / "lab" / "workers" / "prebuilt" / library_name()
    return find_target(root) / "trace" / "release" / library_name()


def library_name() -> str:
    """Its file's name on this system."""
    name = {"darwin": "libmldsa_trace.dylib", "win32": "mldsa_trace.dll"}
    return name.get(sys.platform, "libmldsa_trace.so")


def build_library(root: Path, on_line: Callable[[str], None] = lambda line: None) -> Path:
    """Bring the library up to date with cargo, which does nothing where it is; BuildError with
    the last lines if that fails. ``on_line`` gets the output of cargo. Without cargo, takes a
    library that was built before; LibraryMissing if there is none. A wheel's is taken as it is."""
    if root == SHIPPED:
        if not library_path(root).is_file():
            raise LibraryMissing(
                "this wheel has no library that signs, since it is for every platform: install "
                f"Rust with rustup (https://rustup.rs) and get a checkout: {GET_CHECKOUT}; "
                "`mldsa-lab select SET --from ready` works without"
            )
        return library_path(root)
    if shutil.which("cargo") is None:
        if not library_path(root).is_file():
            raise LibraryMissing(
                "cargo is not installed, so the library that signs cannot be built: install Rust "
                "with rustup (https://rustup.rs); `mldsa-lab select SET --from ready` works without"
            )
        on_line("there is no cargo: the library is taken as it was built")
        return library_path(root)
    # Cargo's own profile: a tuned build is no faster, and takes longer.
    command = ["cargo", "build", "--manifest-path", "library/Cargo.toml", "--release"]
    command += ["--locked", "-p", CRATE]
    run_tool(command, root, {"CARGO_TARGET_DIR": str(find_target(root) / "trace")}, on_line)
    return library_path(root)


_loaded: list[Library] = []


def load(on_line: Callable[[str], None] = lambda line: None, built: Path | None = None) -> Library:
    """The library of this checkout, built first where it is not up to date; once per process.
    ``on_line`` gets the output of cargo. ``built``: the library, where it has just been built."""
    if not _loaded:
        _loaded.append(Library(built or build_library(find_root(), on_line)))
    return _loaded[0]


# Tracing a pool.


BLOCK = 1 << 13
"""Inputs traced in one call: half a second's work."""
_SMALL_BLOCK = 1000
"""The same of a pool that is kept in memory."""
assert ROWS % BLOCK == 0


@dataclass
class Tally:
    """Counts of traces that are not kept in memory. ``has_own_keys``: each signature has its own
    key. ``passed``: iterations that pass z, r0, and both. ``histogram``: signatures by their number
    of iterations."""

    set: str
    has_own_keys: bool = True
    passed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def signatures(self) -> int:
        return int(self.histogram.sum())

    @property
    def iterations(self) -> int:
        return int(self.histogram @ np.arange(len(self.histogram)))

    @property
    def longest(self) -> int:
        return len(self.histogram) - 1

    def add(self, table: TraceTable) -> None:
        """Count these traces too."""
        z, r = (table.first_failing(check) == PASSED for check in "zr")
        self.passed += [z.sum(), r.sum(), (z & r).sum()]
        counts = np.bincount(table.iterations())
        both = np.zeros(max(len(counts), len(self.histogram)), dtype=np.int64)
        for part in (counts, self.histogram):
            both[: len(part)] += part
        self.histogram = both

    def rows(self) -> list[tuple[str, float, float, float | None]]:
        """Name, share or mean, its expectation, and their distance in standard errors:
        None of hint failures under few keys, whose share depends on the key (its t0)."""
        model = RejectionModel.for_set(self.set)
        mean, expected = self.iterations / self.signatures, model.expected_iterations
        deviation = (expected * (expected - 1) / self.signatures) ** 0.5
        rows: list[tuple[str, float, float, float | None]] = [
            ("attempts", mean, expected, (mean - expected) / deviation)
        ]
        z, r, reached = self.passed.tolist()
        for name, hits, trials, p, error in (
            ("z passes", z, self.iterations, model.p_z, 0.0),
            ("r0 passes", r, self.iterations, model.p_r, 0.0),
            ("hint fails", reached - self.signatures, reached, model.fail_h, model.fail_h_error),
        ):
            spread = (p * (1 - p) / trials + error**2) ** 0.5
            known = self.has_own_keys or name != "hint fails"
            rows.append((name, hits / trials, p, (hits / trials - p) / spread if known else None))
        return rows


def trace_pool(
    spec: Spec, size: int, *, threads: int = 1, progress: Callable[[int], None] = lambda done: None
) -> Pool:
    """The first ``size`` inputs of ``spec``, traced with every check by threads of this process;
    the same for any number of them. ``progress`` gets the number done."""
    blocks = Generated(spec, size).blocks(_SMALL_BLOCK)
    with parallel.threads(threads) as force:
        return join_pools(list(_trace_blocks(blocks, force, "all", progress)))


def make_pool(
    source: Source,
    path: Path,
    force: WorkerPool,
    checks: Checks = "reached",
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Tally:
    """Trace all inputs of ``source`` and write the pool file ``path``.

    The file depends only on the source and ``checks``, byte for byte, not on the workers. Only a
    few blocks are in memory, whatever the count. Whatever ends the job early, what was traced is
    kept in ``unfinished(path)``, from which the next job with the same source goes on. ``progress``
    gets the number of inputs done.
    """
    rest = unfinished(path)
    tally = Tally(source.set, source.spec is not None and source.spec.per_key == 1)
    with PoolWriter(path, source.set, checks, source.spec, key=source.key, keep=rest) as writer:
        for part in _read_unfinished(rest, source, checks):
            writer.write(part)
            tally.add(part.table)
        progress(tally.signatures)
        pools = _trace_blocks(source.blocks(BLOCK, tally.signatures), force, checks, progress)
        while group := list(islice(pools, ROWS // BLOCK)):
            part = join_pools(group)
            writer.write(part)
            tally.add(part.table)
    with suppress(OSError):
        rest.unlink(missing_ok=True)
    return tally


def unfinished(path: Path) -> Path:
    """Where the traces of a job that was ended early are kept."""
    return path.with_name(f"{path.name}.unfinished")


def _read_unfinished(rest: Path, source: Source, checks: Checks) -> Iterator[Pool]:
    """The whole row groups of an earlier job of the same inputs, if there is one."""
    if not rest.exists():
        return
    most = source.count
    start = 0
    for part in read_parts(rest):
        same = (part.spec, part.checks, part.set) == (source.spec, checks, source.set)
        same = same and (most is None or start + len(part) <= most)
        if not same or (part.listed is not None and not _is_same_list(source, start, part)):
            raise LabError(
                f"{rest}: is of a job with other inputs; delete it, or choose another output"
            )
        if len(part) % BLOCK:
            return
        start += len(part)
        yield part


def _is_same_list(source: Source, start: int, part: Pool) -> bool:
    """Compare the inputs of ``part`` with those of ``source`` from ``start`` on."""
    block = next(source.blocks(len(part), start), None)
    return block is not None and block.listed == part.listed


def trace_block(block: Block, checks: Checks) -> TraceTable:
    """The traces of a block, by this process."""
    return load().trace(block.set, block.inputs(), checks)


def _trace_blocks(
    blocks: Iterable[Block], force: WorkerPool, checks: Checks, progress: Callable[[int], None]
) -> Iterator[Pool]:
    """The traces of each block, in order."""
    started, traced = tee(blocks)
    items = (
        WorkItem(f"tracing inputs {b.start} to {b.start + b.count - 1}", trace_block, (b, checks))
        for b in started
    )
    for block, table in zip(traced, parallel.in_order(items, force), strict=True):
        progress(block.start + block.count)
        yield Pool(table, block.index(), checks, block.spec, block.listed)


# Pools that ship.


DATA = Path(__file__).parents[1] / "data"
"""The folder of the files that ship."""
SIZE = 10_000
"""Signatures of a pool that ships, and of one that is traced for a choice."""


def shipped_spec(set_name: str) -> Spec:
    """The inputs of the pool that ships: 32-byte messages, no contexts, a key for each, rnd zero.
    The seed is the SHA-256 of ``mldsa-lab pool 1 `` and the set's name."""
    seed = hashlib.sha256(b"mldsa-lab pool 1 " + set_name.encode("ascii")).digest()
    return Spec(set_name, seed)


def shipped_path(set_name: str) -> Path:
    """Where the pool is that ships."""
    return DATA / "pools" / f"{parameter_set(set_name).name.lower()}.parquet"


@cache
def shipped_pool(set_name: str) -> Pool:
    """The pool that ships with the lab, traced with every check."""
    return read_pool(shipped_path(set_name))
