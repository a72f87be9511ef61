"""The machine: its description without privileges, its cores and the ticks of its clocks."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

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
    """The `machine` object of a record (docs/files.md). Unreadable values are None."""
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
    """Return the output of git; None where it fails or is not there."""
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


# Ticks of a clock.


# A smaller tick cannot be told from chance among fine readings. Of a sample of 150 µs it is 0.01 %.
_LEAST = 16
# Readings are rounded to whole units; a tick may be no whole number of them.
_ROUNDING, _RELATIVE = 1.0, 1e-4
# The share of the readings that must repeat, and of those that must be whole ticks.
_REPEATED, _WHOLE = 0.5, 0.9
_TRIES = 8


def find_tick(readings: NDArray[np.int64] | Sequence[int]) -> float:
    """Return the tick of the clock that gave these ``readings``, lengths of time in whole units.

    It is 0 where the readings show none: a clock that is finer than their noise repeats few of
    them. It is infinite where all readings are 0. Readings that are all the same are one tick.
    """
    read = np.asarray(readings)
    values, counts = np.unique(read, return_counts=True)
    if not values.any():
        return math.inf
    often = counts > 1
    if counts[often].sum() <= _REPEATED * len(read):
        return 0.0
    # An empty interval reads 0.
    repeated = np.union1d(values[often], [0]).astype(np.float64)
    gaps = np.unique(np.diff(repeated))
    gaps = gaps[gaps >= _LEAST][:_TRIES]
    # Of few values no two may be neighbours.
    tries = (gap / parts for parts, gap in product(range(1, _TRIES), gaps))
    for step in (step for step in tries if step >= _LEAST):
        steps = np.round(repeated / step)
        tick = float(repeated @ steps / (steps @ steps))
        if _are_whole(values, counts, tick) >= _WHOLE:
            return tick
    return 0.0


def _are_whole(values: NDArray[np.int64], counts: NDArray[np.int64], tick: float) -> float:
    """Return the share of the readings that are whole ticks."""
    off: NDArray[np.float64] = np.abs(values - tick * np.round(values / tick))
    return float(counts[off <= _ROUNDING + _RELATIVE * tick].sum() / counts.sum())
