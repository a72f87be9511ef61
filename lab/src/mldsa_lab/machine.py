"""The machine: its description without privileges, its cores, and jobs run on all of them."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, TypeVar

from mldsa_lab import LabError, first_line
from mldsa_lab.plugins import need

# The machine.


T = TypeVar("T")

# The CPU features that ML-DSA code chooses its backend by; the rest of the flags is noise.
_FEATURES = {
    "sse4_2", "ssse3", "avx", "avx2", "bmi1", "bmi2", "adx", "gfni", "vaes", "vpclmulqdq", "sha_ni",
    "sha512", "neon", "sha2", "sha3", "v",
}  # fmt: skip
_GROUPS = ("avx512", "avx10", "asimd", "sve", "zv", "zb", "zk")
_COMPILERS = (
    ("rustc", ("rustc", "--version")),
    ("cc", ("cc", "--version")),
    ("go", ("go", "version")),
)
_CPUS = Path("/sys/devices/system/cpu")
_DMI = Path("/sys/class/dmi/id")


class Machine(TypedDict, total=False):
    """The machine as far as it can be read without privileges; None: not known."""

    cpu: str | None
    architecture: str
    features: list[str]
    cores: int
    governor: str | None
    memory_bytes: int | None
    os: str
    load1: float | None
    python: str
    compilers: dict[str, str]
    # Since schema 4 of records.
    vendor: str | None
    family: int | None
    model: int | None
    stepping: int | None
    microcode: str | None
    frequency_khz: list[int] | None
    smt: bool | None
    boost: bool | None
    hypervisor: str | None
    kernel: str | None
    distribution: str | None


def describe() -> Machine:
    """The `machine` object of a record (docs/records.md). What cannot be read is None."""
    info = _cpuinfo()
    return {
        "cpu": _model_name(info),
        "architecture": platform.machine(),
        "features": _features(info),
        "cores": cores_to_use(),
        "governor": _read_all_cores("scaling_governor"),
        "memory_bytes": _known(lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        "os": f"{platform.system()} {platform.release()}",
        "load1": load1(),
        "python": platform.python_version(),
        "compilers": {name: v for name, argv in _COMPILERS if (v := tool_version(argv))},
        "vendor": info.get("vendor_id") or info.get("cpu implementer"),
        "family": _whole(info.get("cpu family") or info.get("cpu architecture")),
        "model": _whole(info.get("model") or info.get("cpu part")),
        "stepping": _whole(info.get("stepping") or info.get("cpu revision")),
        "microcode": info.get("microcode"),
        "frequency_khz": _frequency_khz(),
        "smt": _switch(_CPUS / "smt" / "active"),
        "boost": _boost(),
        "hypervisor": _hypervisor(info),
        "kernel": platform.version() or None,
        "distribution": _known(lambda: platform.freedesktop_os_release().get("PRETTY_NAME")),
    }


def cache_bytes() -> int | None:
    """The size of the largest cache that a core reads through; None if it cannot be read."""
    texts = (_read(path) or "" for path in _CPUS.glob("cpu[0-9]*/cache/index*/size"))
    sizes = (text.removesuffix("K") for text in texts if text.endswith("K"))  # the kernel's form
    return max((int(size) << 10 for size in sizes if size.isdecimal()), default=None)


def source_state(root: Path) -> tuple[str | None, bool | None]:
    """The commit of the source at ``root``, and whether every tracked file is as it has it.

    Nothing of both where ``root`` is no git repository of its own.
    """
    lines = _git(root, "rev-parse", "--show-toplevel", "HEAD")
    if lines is None:
        return None, None
    top, commit = lines.splitlines()
    if Path(top).resolve() != root.resolve():
        return None, None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit, None if changed is None else not changed


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git prints; None where it fails or is not there."""
    done = _run("git", "-C", str(root), *arguments)
    return None if done is None else done.stdout.strip()


def load1() -> float | None:
    """The load average over one minute."""
    return _known(lambda: round(os.getloadavg()[0], 2))


def tool_version(argv: Iterable[str]) -> str | None:
    """The first line a tool prints of its version; None if the tool is not there."""
    done = _run(*argv)
    lines = [] if done is None else (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if lines else None


def _run(*argv: str) -> subprocess.CompletedProcess[str] | None:
    """Run a tool. None if it is missing or fails."""
    # GOTOOLCHAIN=local: asking for a version must not download a toolchain.
    env = {**os.environ, "GOTOOLCHAIN": "local", "LC_ALL": "C"}
    try:
        return subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=60, env=env,
            stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None


def _known(read: Callable[[], T]) -> T | None:
    """Return ``read()``, or None where the system does not provide it."""
    try:
        return read()
    except (OSError, ValueError, AttributeError):
        return None


def _read(path: Path) -> str | None:
    """The text of one of the system's files, None where there is none."""
    return _known(lambda: path.read_text(encoding="utf-8", errors="replace").strip())


def _cpuinfo() -> dict[str, str]:
    """The first value of each field of /proc/cpuinfo, by its name in small letters."""
    fields: dict[str, str] = {}
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip().lower(), value.strip())
    return fields


def _model_name(info: dict[str, str]) -> str | None:
    model = info.get("model name") or info.get("hardware") or info.get("uarch")
    if model is None and "cpu part" in info:
        model = f"Arm implementer {info.get('cpu implementer', '?')} part {info['cpu part']}"
    if model is None and not info:
        model = tool_version(("sysctl", "-n", "machdep.cpu.brand_string"))  # macOS
    return model or platform.processor() or None


def cores_to_use() -> int:
    """The cores that this process and those it starts may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _features(info: dict[str, str]) -> list[str]:
    flags = info.get("flags") or info.get("features") or ""
    if "isa" in info:  # RISC-V: one word, extensions joined by _
        flags = info["isa"].replace("_", " ")
    if not info:
        flags = (tool_version(("sysctl", "-n", "machdep.cpu.leaf7_features")) or "").lower()
    return sorted({f for f in flags.split() if f in _FEATURES or f.startswith(_GROUPS)})


def _whole(text: str | None) -> int | None:
    """A number of /proc/cpuinfo: decimal, or `0x` and hexadecimal."""
    return None if text is None else _known(lambda: int(text, 0))


def _read_all_cores(name: str) -> str | None:
    """A file of every core's cpufreq folder; the values joined where they differ."""
    values = {_read(path) for path in _CPUS.glob(f"cpu[0-9]*/cpufreq/{name}")} - {None, ""}
    return ", ".join(sorted(map(str, values))) or None


def _frequency_khz() -> list[int] | None:
    """The lowest and the highest frequency that the cores are allowed."""
    limits = []
    for name, extreme in (("scaling_min_freq", min), ("scaling_max_freq", max)):
        values = [_whole(text) for text in (_read_all_cores(name) or "").split(", ") if text]
        known = [value for value in values if value is not None]
        if not known:
            return None
        limits.append(extreme(known))
    return limits


def _switch(path: Path) -> bool | None:
    text = _read(path)
    return None if text not in ("0", "1") else text == "1"


def _boost() -> bool | None:
    """Return whether cores may run above their base frequency."""
    no_turbo = _switch(_CPUS / "intel_pstate" / "no_turbo")
    return _switch(_CPUS / "cpufreq" / "boost") if no_turbo is None else not no_turbo


def _hypervisor(info: dict[str, str]) -> str | None:
    """Who runs the virtual machine, or "none"; None where the CPU does not tell."""
    if "hypervisor" not in info.get("flags", "").split():
        return "none" if "flags" in info else None
    names = (_read(_DMI / "sys_vendor"), _read(_DMI / "product_name"))
    named = " ".join(name for name in names if name)
    return named or _read(Path("/sys/hypervisor/type")) or "not named"


# Jobs on all cores.


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
