"""From the names that figures still have to those of the contract (`estimate/contract.py`): the map
by which `tests/golden` was converted once.

`golden.py` applies it to what commands write. Where an emitter speaks the contract itself, its part
of the map goes; the last part takes this file with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Figure = dict[str, Any]
Keys = dict[str, Any]


def _variant(keys: Keys) -> str:
    """The id of a variant by its parts."""
    parts = [keys["implementation"], keys["backend"], keys["key"]]
    parts += ["tuned"] if keys.get("build") == "tuned" else []
    size, mode = keys.get("batch_size", 1), keys.get("mode", "single")
    parts += [f"batch-{size}"] if mode == "batch" else [f"loop-{size}"] if size > 1 else []
    parts += [f"threads-{keys['threads']}"] if keys.get("threads", 1) > 1 else []
    return ":".join(parts)


_ATTRIBUTES = ("implementation", "backend", "key", "build", "batch_size", "mode")
_PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "p999": 99.9}
_MEASURED: dict[str, tuple[str, Keys]] = {
    **{name: ("quantile", {"percentile": share}) for name, share in _PERCENTILES.items()},
    "over_last": ("ratio", {"against": "last"}),
    "heap_each": ("heap", {"per": "operation"}),
    "first_misses": ("misses", {"level": "first"}),
    "last_misses": ("misses", {"level": "last"}),
    "first_hits": ("hits", {"level": "first"}),
    "last_hits": ("hits", {"level": "last"}),
    "attempts": ("count", {"of": "attempts"}),
    "private_key": ("bytes", {"object": "private key"}),
    "public_key": ("bytes", {"object": "public key"}),
    "block": ("time", {"of": "block"}),
    "cold_ratio": ("ratio", {"against": "warm"}),
    "ratio_change": ("change", {"of": "ratio"}),
    "change": ("change", {"of": "mean"}),
    "cells": ("agreement", {"statistic": "cells"}),
    "overlapping": ("agreement", {"statistic": "overlapping"}),
    "median_change": ("agreement", {"statistic": "median"}),
    "largest_change": ("agreement", {"statistic": "largest"}),
}


def _measured(name: str, keys: Keys) -> tuple[str, Keys]:
    """The name and the further keys of a measured figure."""
    if name in _MEASURED:
        return _MEASURED[name]
    if name == "signature":
        return ("time", {"of": name}) if "caches" in keys else ("bytes", {"object": name})
    if match := re.fullmatch(r"over (\S+) (\S+)", name):
        return "ratio", {"scheme": match[1], "against": match[2]}
    if match := re.fullmatch(r"cost of (.*)", name):
        return "attempt_cost", {"attempt": match[1]}
    if match := re.fullmatch(r"signing_(.*)", name):
        return "attempt_change", {"attempt": match[1]}
    if match := re.fullmatch(r"share of (.*)", name):
        return "share", {"of": "block", "slot": match[1]}
    return name, {}


def _record(figures: Iterable[Figure]) -> Iterable[Figure]:
    """Figures of a record or a comparison: the attributes of a variant are no keys, and a
    call of a cold start is one."""
    call = None
    for one in figures:
        keys, name = dict(one["keys"]), one["name"]
        if name == "call":  # it stands before the other figures of its row
            call = one["value"]
            continue
        if name in ("cost", "over_last"):
            keys["call"] = call
        if name == "value":
            name = "spread" if "spread_lacking" in keys else "block"
        verdicts = {
            k.removesuffix("_verdict"): keys.pop(k) for k in list(keys) if k.endswith("_verdict")
        }
        keys = {k: v for k, v in keys.items() if not k.endswith(("_lacking", "_notes"))}
        found, more = _measured(name, keys)
        if keys.get("clock") == "wall, asked for":
            more = {**more, "clock": "wall"}
        keys.pop("clock", None)
        if "backend" in keys:
            keys.setdefault("variant", _variant(keys))
        if "variant" in keys:
            keys = {k: v for k, v in keys.items() if k not in _ATTRIBUTES}
            if not {"caches", "batch"}.intersection(keys):
                keys.pop("threads", None)
        if "caches" in keys:
            keys.setdefault("threads", 1)
        keys = {k: v for k, v in keys.items() if v not in ("", 0) or k == "message_bytes"}
        made = {**one, "keys": {**keys, **more}, "name": found}
        yield made | ({"verdict": verdicts[name]} if name in verdicts else {})


def in_contract(file: str, figures: Iterable[Figure]) -> Iterable[Figure]:
    """The figures of a golden file in the words of the contract. What estimates, selections, audits
    and the theory have beside figures stays as it is."""
    is_measured = re.fullmatch(r"records/.*|compare/.*|memory", file)
    return _record(figures) if is_measured else figures
