"""The header `binding.hpp`: a manifest as the harness in rtl/harness is compiled with it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab_rtl.manifest import CoreCounters, CoreFile, CoreStream, Manifest
from mldsa_lab_rtl.parts import Layout

PREFIX = "Vcore"
"""Verilator's name of the model's class."""
_OPERATIONS = ("keygen", "load_key", "sign", "verify")


def hello(manifest: Manifest, compiler: str) -> str:
    """Return the reply to `hello`."""
    f = manifest.file
    flags = " ".join(f"{name}={value}" for name, value in f.parameters.items())
    text = _lines({
        "worker": manifest.worker,
        "protocol": "1",
        "language": f.language,
        "compiler": compiler,
        "flags": f"top {f.top}{f', {flags}' if flags else ''}",
        "unit": "cycles",
        "clock": "the core's own, simulated",
        "phases": "load compute store",
    })  # fmt: skip
    own = [name for name in f.operations.listed() if name != "load_key"]
    for key, operations, note in (
        ("compact", own, "the private key is handed over in each signature"),
        ("expanded", ["sign"], "the private key was handed over before the clock starts"),
    ):
        if key == "expanded" and f.operations.load_key is None:
            continue
        notes = [f.standard, note if "sign" in operations else "", f.note]
        text += _lines({
            "variant": f"{variant(f)}:{key}",
            "implementation": f.name,
            "version": manifest.release,
            "backend": f.configuration,
            "key": key,
            "family": "ml-dsa",
            "sets": " ".join(name for name in PARAMETER_SETS if name in f.sets),
            "operations": " ".join(operations),
            "rnd": "given" if "rnd" in _signing(f) else "zero",
            "context": "yes" if _context(f) else "no",
            "private_keys": private_key(f),
            "note": "; ".join(filter(None, notes)),
        })  # fmt: skip
    return text + "end\n"


def variant(f: CoreFile) -> str:
    """Return the first two parts of its variants' ids."""
    return f"{f.name}:{f.configuration}"


def private_key(f: CoreFile) -> str:
    """Return the form of private key that signing starts from."""
    return "seed" if "seed" in _signing(f) else "sk"


def _signing(f: CoreFile) -> set[str | int]:
    """The operands of a signature, its key included."""
    return {part for o in (f.operations.sign, f.operations.load_key) if o for part in o.load}


def _context(f: CoreFile) -> bool:
    both = (f.operations.sign, f.operations.verify)
    takes = (not {"context", "m_prime", "mu"}.isdisjoint(o.load) for o in both if o is not None)
    return f.standard == "FIPS 204" and all(takes)


def _lines(about: dict[str, str]) -> str:
    return "".join(f"{key} {' '.join(value.split())}\n" for key, value in about.items())


_TYPES = {
    bool: "constexpr bool", int: "constexpr std::uint64_t", str: "inline const std::string",
}  # fmt: skip


def _cpp(value: bool | int | str) -> str:
    """A literal of C++."""
    return json.dumps(value, ensure_ascii=False)


def header(manifest: Manifest, compiler: str) -> str:
    """Return the text of the header; ``compiler``: as the worker announces it."""
    f = manifest.file
    round_3 = f.standard == "round 3"
    layouts = {name: Layout.for_set(name, round_3) for name in PARAMETER_SETS}
    constants: dict[str, bool | int | str] = {
        "COMPLETE_RESET": f.reset.complete,
        "RANDOM_POWER_UP": f.reset.power_up == "random",
        "ROUND_3": round_3,
        "HAS_COMMAND": f.command is not None,
        "HAS_RESPONSE": f.response is not None,
        "OUTPUT_WAITS": f.output.ready is not None,
        "RESPONSE_WAITS": f.response is not None and f.response.ready is not None,
        "CONTEXT": _context(f),
        "RND": "rnd" in _signing(f),
        "ZEROIZES": f.zeroize is not None,
        "ZEROIZE_COMMAND": f.zeroize is None or f.zeroize.command,
        "ZEROIZE_CYCLES": f.zeroize.cycles if f.zeroize else 0,
        "ZEROIZE_WAIT": f.zeroize.wait if f.zeroize else 0,
        "RESET_CYCLES": f.reset.cycles,
        "LIMIT": f.limit,
        "OK": f.response.ok if f.response else 0,
        "VARIANT": variant(f),
        "PRIVATE_KEY": private_key(f),
        "HELLO": hello(manifest, compiler),
    }
    # A word without `ready` is there for one cycle, so it is taken in that.
    waits = f.output.stalls and f.output.ready is not None
    parts = [
        "#pragma once",
        *(["#define CORE_IS_SAVED"] if f.zeroize else []),
        f'#include "{PREFIX}.h"\n#include "shape.hpp"\n\nnamespace binding {{',
        f"using Model = {PREFIX};",
        *(f"{_TYPES[type(v)]} {name} = {_cpp(v)};" for name, v in constants.items()),
        f"inline const Stream INPUT = {_stream(f.input, f.input.stalls)};",
        f"inline const Stream OUTPUT = {_stream(f.output, waits)};",
        _counted(f),
        _sizes(layouts),
        _plans(f, layouts),
        _functions(f),
        "}  // namespace binding\n",
    ]
    return "\n".join(parts)


def _stream(s: CoreStream, stalls: bool) -> str:
    packet = "none" if s.last is None else s.packet
    counts = s.bytes is not None or s.keep is not None
    values = (str(s.width // 8), _cpp(s.order == "big"), f"Packet::{packet}", _cpp(counts))
    steady = _cpp(s.steady and s.ready is not None)
    return f"{{{', '.join(values)}, {steady}, {_cpp(stalls)}}}"


def _counted(f: CoreFile) -> str:
    names = CoreCounters.__struct_fields__
    there = ", ".join(_cpp(getattr(f.counters, name) is not None) for name in names)
    return (
        f"inline const std::vector<std::string> COUNTERS{{{', '.join(map(_cpp, names))}}};\n"
        f"constexpr bool COUNTS[] = {{{there}}};"
    )


def _sizes(layouts: dict[str, Layout]) -> str:
    names = ", ".join(_cpp(name) for name in layouts)
    rows = ", ".join(
        f"{{{', '.join(str(layout.size(n)) for n in ('pk', 'sk', 'signature'))}, {layout.tr}}}"
        for layout in layouts.values()
    )
    return (
        f"inline const std::vector<std::string> SETS{{{names}}};\n"
        f"inline const std::vector<Sizes> SIZES{{{rows}}};"
    )


def _part(part: str | int, words: dict[str, int], layout: Layout) -> str:
    if isinstance(part, int) or part in words:
        return f"{{Source::literal, 0, 0, true, {words.get(str(part), part)}u}}"
    source, _, _ = part.partition(".")
    offset, size = layout.slices.get(part, (0, 0))
    # A whole operand is sent as it is, so that the core sees a wrong length.
    return f"{{Source::{source}, {offset}, {size}, {_cpp('.' not in part)}, 0}}"


def _plans(f: CoreFile, layouts: dict[str, Layout]) -> str:
    rows = []
    for name in _OPERATIONS:
        operation = getattr(f.operations, name)
        row = []
        for set_name, layout in layouts.items():
            if operation is None or set_name not in f.sets:
                row.append("{false, {}, {}}")
                continue
            words = f.sets[set_name].words
            lists = (
                ", ".join(_part(part, words, layout) for part in listed)
                for listed in (operation.load, operation.store)
            )
            row.append("{true, " + ", ".join(f"{{{text}}}" for text in lists) + "}")
        rows.append(f"    {{{', '.join(row)}}},")
    rows.append("    {{" + "}, {".join([f"{_cpp(f.zeroize is not None)}, {{}}, {{}}"] * 3) + "}},")
    return "inline const Plan PLANS[OPERATIONS][3] = {\n" + "\n".join(rows) + "\n};"


def _functions(f: CoreFile) -> str:
    c, r, i, o = f.command, f.response, f.input, f.output
    active = f.reset.active == "high"
    built = {
        "void clock(Model& m, bool on)": f"m.{f.clock.port} = on;",
        "void reset(Model& m, bool on)": f"m.{f.reset.port} = on == {_cpp(active)};",
        "void command(Model& m, bool on)": f"m.{c.valid} = on;" if c else "",
        "bool commanded(Model& m)": f"return {_ready(c.ready if c else None)};",
        "void offer(Model& m, bool on, const Word& word)": _offer(i),
        "bool taken(Model& m)": f"return {_ready(i.ready)};",
        "void accept(Model& m, bool on)": f"m.{o.ready} = on;" if o.ready else "",
        "bool offered(Model& m, Word& word)": _offered(o),
        "void hear(Model& m, bool on)": f"m.{r.ready} = on;" if r and r.ready else "",
        "bool answered(Model& m, std::uint64_t& status)": _answered(f),
        "void count(Model& m, std::vector<std::uint64_t>& found)": _count(f),
        "void select(Model& m, Operation operation, int set)": _select(f),
        "void idle(Model& m)": "offer(m, false, Word{}); command(m, false); accept(m, false); "
        f"hear(m, false); {_assign(f.ports)}",
        "bool refuses(std::uint64_t status)": _refuses(f),
        "bool accepts(std::uint64_t verdict)": _accepts(f),
        "std::string status(std::uint64_t value)": _status(f),
    }
    return "\n".join(f"inline {name} {{ {body} }}" for name, body in built.items())


def _assign(ports: Mapping[str, int]) -> str:
    return " ".join(f"m.{port} = {value}u;" for port, value in ports.items())


def _ready(port: str | None) -> str:
    return f"m.{port} != 0" if port else "true"


def _offer(s: CoreStream) -> str:
    parts = [f"m.{s.valid} = on;", f"put(m.{s.data}, word, INPUT);"]
    if s.last:
        parts.append(f"m.{s.last} = on && word.last;")
    if s.bytes:
        parts.append(f"m.{s.bytes} = word.last ? word.bytes : INPUT.bytes;")
    if s.keep:
        bits = "word.last ? (std::uint64_t(1) << word.bytes) - 1 : ~std::uint64_t(0)"
        mask = f"(std::uint64_t(1) << {s.width // 8}) - 1" if s.width < 512 else "~std::uint64_t(0)"
        parts.append(f"m.{s.keep} = ({bits}) & ({mask});")
    return " ".join(parts)


def _offered(s: CoreStream) -> str:
    parts = [f"if (!m.{s.valid}) return false;", f"take(m.{s.data}, word, OUTPUT);"]
    parts.append(f"word.last = {f'm.{s.last} != 0' if s.last else 'false'};")
    reported = "OUTPUT.bytes"
    if s.bytes:
        reported = f"m.{s.bytes}"
    if s.keep:
        reported = f"unsigned(__builtin_popcountll(m.{s.keep}))"
    parts.append(
        f"word.bytes = {f'word.last ? {reported} : OUTPUT.bytes' if s.last else reported};"
    )
    return " ".join([*parts, "return true;"])


def _answered(f: CoreFile) -> str:
    r = f.response
    if r is None:
        return "return false;"
    status = f"status = m.{r.status}; " if r.status else f"status = {r.ok}; "
    return f"{status}return m.{r.valid} != 0;"


def _count(f: CoreFile) -> str:
    ports = (getattr(f.counters, name) for name in CoreCounters.__struct_fields__)
    values = ", ".join(f"std::uint64_t(m.{port})" if port else "0" for port in ports)
    return f"found = {{{values}}};"


def _select(f: CoreFile) -> str:
    when = {f"operation == {n.upper()}": o.ports for n, o in f.operations.listed().items()}
    if f.zeroize is not None:
        when["operation == ZEROIZE"] = f.zeroize.ports
    places = {name: place for place, name in enumerate(PARAMETER_SETS)}
    when |= {f"set == {places[name]}": s.ports for name, s in f.sets.items()}
    return " ".join(f"if ({test}) {{ {_assign(ports)} }}" for test, ports in when.items() if ports)


def _refuses(f: CoreFile) -> str:
    refused = () if f.response is None else f.response.refused
    return "return " + (" || ".join(f"status == {value}u" for value in refused) or "false") + ";"


def _accepts(f: CoreFile) -> str:
    verify = f.operations.verify
    if f.verdict is None or verify is None or "verdict" not in verify.store:
        return "return true;"
    mask = f" & {f.verdict.mask}u" if f.verdict.mask else ""
    return f"return (verdict{mask}) == {f.verdict.accepted}u;"


def _status(f: CoreFile) -> str:
    names = () if f.response is None else f.response.names
    cases = "".join(f"if (value == {n}u) return {_cpp(name)}; " for n, name in enumerate(names))
    return f'{cases}return "status " + std::to_string(value);'
