"""What machine this is: what a reader of figures must know and can be read unprivileged."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# The CPU features that ML-DSA code chooses its backend by; the rest of the flags is noise.
_FEATURES = re.compile(
    r"^(sse4_2|ssse3|avx|avx2|avx512\w+|avx10\w*|bmi1|bmi2|adx|gfni|vaes|vpclmulqdq|sha_ni|sha512|"
    r"asimd\w*|neon|sha2|sha3|sve\w*|v|zv\w+|zb\w+|zk\w+)$"
)
_COMPILERS = (
    ("rustc", ("rustc", "--version")),
    ("cc", ("cc", "--version")),
    ("go", ("go", "version")),
)


def describe() -> dict[str, Any]:
    """The `machine` object of a record (docs/records.md). What cannot be read is None."""
    cpu, features = _cpu()
    return {
        "cpu": cpu,
        "architecture": platform.machine(),
        "features": features,
        "cores": cores_to_use(),
        "governor": _governor(),
        "memory_bytes": _memory_bytes(),
        "os": f"{platform.system()} {platform.release()}",
        "load1": load1(),
        "python": platform.python_version(),
        "compilers": {name: v for name, argv in _COMPILERS if (v := tool_version(argv))},
    }


def load1() -> float | None:
    """The load average over one minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def tool_version(argv: Iterable[str]) -> str | None:
    """The first line a tool prints of its version; None if the tool is not there."""
    argv = list(argv)
    if shutil.which(argv[0]) is None:
        return None
    # GOTOOLCHAIN=local: asking for a version must not download a toolchain.
    env = {**os.environ, "GOTOOLCHAIN": "local", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=30, env=env, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


def _cpu() -> tuple[str | None, list[str]]:
    """The CPU's model and its features."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _cpu_of_macos()
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip().lower(), value.strip())
    flags = fields.get("flags") or fields.get("features") or ""
    if "isa" in fields:  # RISC-V: one word, extensions joined by _
        flags = fields["isa"].replace("_", " ")
    model = fields.get("model name") or fields.get("hardware") or fields.get("uarch")
    if model is None and "cpu part" in fields:
        implementer = fields.get("cpu implementer", "?")
        model = f"Arm implementer {implementer} part {fields['cpu part']}"
    names = sorted({flag for flag in flags.split() if _FEATURES.match(flag)})
    return model or platform.processor() or None, names


def _cpu_of_macos() -> tuple[str | None, list[str]]:
    model = tool_version(("sysctl", "-n", "machdep.cpu.brand_string"))
    flags = tool_version(("sysctl", "-n", "machdep.cpu.leaf7_features")) or ""
    names = sorted({f for f in flags.lower().split() if _FEATURES.match(f)})
    return model or platform.processor() or None, names


def cores_to_use() -> int:
    """The cores that this process and those it starts may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _governor() -> str | None:
    """The frequency governors of all cores, joined where they differ."""
    found = set()
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"):
        try:
            found.add(path.read_text(encoding="ascii").strip())
        except (OSError, UnicodeDecodeError):
            continue
    return ", ".join(sorted(found)) or None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
