"""Convert records of schemas 1 to 7 to schema 8, in place.

    python lab/scripts/convert_records.py RECORD...

RECORD is a `.jsonl` file, or one compressed as `.jsonl.xz`. Each file is replaced as a whole,
after its new text was read and checked. A record of schema 8 stays as it is.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mldsa_lab import LabError
from mldsa_lab.records import read_record

Line = dict[str, Any]
SCHEMA = 8
STACK_HEAP = ("stack", "heap", "allocations", "allocated", "kept")
TRAFFIC = ("attempts", "instructions", "read", "written", "first_misses", "last_misses")
WHERE = ("round", "turn", "variant", "set", "operation", "calls", "inputs")


def converted(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines of a record in schema 8."""
    pipelines: dict[str, Line] = {}
    block, seen = "", set[str]()
    for line in lines:
        kind = line.pop("type")
        if kind == "run":
            yield _run(line)
        elif kind == "samples" and "wall" in line:
            if line.get("shape") == {"process": "fresh"} and "cold" not in seen:
                seen.add("cold")
                yield _definition("cold", "first operations of a process")
            yield _samples(line, _times(line), line.pop("phases", {}), line.pop("shape", {}))
        elif kind == "pipeline":
            name = line.pop("pipeline")
            pipelines[name] = line
            yield _definition("pipeline", name, line, checks=line.pop("checks"))
        elif kind == "chains":
            yield _chains(line, pipelines[line["pipeline"]])
        elif kind == "block":
            block = line.pop("block")
            yield _definition("block", block, line)
        elif kind == "verifier":
            about = {name: line[name] for name in ("variant", "set")} | {"operation": "verify"}
            content = {"batch": line["batch"]}
            if line["digest"] is not None:
                content["digest"] = line["digest"]
            parts = {"checks": line["checks"], "lacking": line["lacking"]}
            yield _definition("verifier", block, content, **about, **parts)
        elif kind == "validation":
            shape = {name: line[name] for name in ("batch", "threads")}
            shape["caches"] = "cold" if line["cold"] else "warm"
            line |= {"operation": "verify", "calls": 1, "inputs": []}
            yield _samples(line, _times(line), {}, shape)
        elif kind in ("memory", "traffic"):
            name = "stack and heap" if kind == "memory" else "traffic"
            if name not in seen:
                seen.add(name)
                yield _definition("memory", name)
            yield _memory(line, name)
        else:
            yield {"type": kind, **line}


def _run(line: Line) -> Line:
    schema = line["schema"]
    if schema < 3:
        line["options"].setdefault("build", "tuned")  # there was no other
    tool = f"{line['tool']}, schema {schema}" if schema < SCHEMA else line["tool"]
    return {"type": "run", **line, "schema": SCHEMA, "tool": tool}


def _definition(kind: str, name: str, content: Line | None = None, **parts: Any) -> Line:
    known = {key: value for key, value in parts.items() if value is not None}
    return {"type": "definition", "kind": kind, "name": name, "content": content or {}, **known}


def _samples(line: Line, metrics: Line, phases: Line, shape: Line) -> Line:
    where = {name: line[name] for name in WHERE}
    return {"type": "samples", **where, "metrics": metrics, "phases": phases, "shape": shape}


def _times(line: Line) -> Line:
    return {name: line[name] for name in ("wall", "cpu") if line[name] is not None}


def _chains(line: Line, pipeline: Line) -> Line:
    first = pipeline["stages"][0]
    if len(set(first["inputs"])) != len(first["inputs"]):
        raise LabError("two records of a pipeline have the same first input")
    parts = {s["name"]: ticks for s, ticks in zip(pipeline["stages"], line["stages"], strict=True)}
    sums = [sum(ticks) for ticks in zip(*line["stages"], strict=True)]
    parts["between stages"] = [w - s for w, s in zip(line["wall"], sums, strict=True)]
    line |= {name: first[name] for name in ("variant", "set", "operation")}
    line |= {"calls": 1, "inputs": [first["inputs"][place] for place in line["first"]]}
    shape = {name: line[name] for name in ("pipeline", "threads")}
    return _samples(line, _times(line) | {"elapsed": [line["elapsed"]]}, parts, shape)


def _memory(line: Line, name: str) -> Line:
    about = {key: line[key] for key in ("variant", "set", "operation")}
    if line["lacking"] is not None:
        return _definition("memory", name, **about, lacking=line["lacking"])
    names = STACK_HEAP if name == "stack and heap" else TRAFFIC
    metrics = {key: [line[key]] for key in names if line.get(key) is not None}
    shape: Line = {"memory": name}
    if name == "stack and heap":
        shape["samples"] = line["samples"]  # the largest value of so many
    inputs = [line["input"]] if "input" in line else []
    line |= {"round": 0, "turn": 0, "calls": 1, "inputs": inputs}
    return _samples(line, metrics, {}, shape)


def convert(path: Path) -> str:
    """Convert a file; return what was done."""
    packed = path.suffix == ".xz"
    data = lzma.decompress(path.read_bytes()) if packed else path.read_bytes()
    *whole, cut_off = data.split(b"\n")
    lines = [json.loads(line) for line in whole]
    schema = lines[0].get("schema") if lines else None
    if lines == [] or lines[0].get("type") != "run" or schema not in range(1, SCHEMA + 1):
        raise LabError("not an mldsa-lab record of schemas 1 to 8")
    if schema == SCHEMA and not any("wall" in line for line in lines):
        return "is of schema 8 already"
    texts = (json.dumps(line, separators=(",", ":")) for line in converted(lines))
    content = "".join(f"{text}\n" for text in texts).encode() + cut_off
    if packed:
        content = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        new = Path(folder) / path.name
        new.write_bytes(content)
        read_record(new)
        new.replace(path)
    return f"schema {schema} converted to {SCHEMA}"


def main(names: list[str]) -> int:
    """Convert each file; return 1 if one could not be."""
    failed = False
    for name in names:
        try:
            print(f"{name}: {convert(Path(name))}")
        except (LabError, OSError, ValueError, KeyError, lzma.LZMAError) as error:
            failed = True
            print(f"{name}: not converted: {error!r}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
