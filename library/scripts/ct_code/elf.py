"""The parts of an ELF file for the check: functions, constants, and the targets of calls by a
table."""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}
# By machine: the relocations that put an address of the program, or one of another's symbol.
RELATIVE = {"x86_64": {8}, "aarch64": {1027}}
IMPORTED = {"x86_64": {1, 6, 7}, "aarch64": {257, 1025, 1026}}


@dataclass(frozen=True)
class Function:
    address: int
    code: bytes
    name: str


@dataclass
class Program:
    path: Path
    machine: str
    functions: dict[int, Function] = field(default_factory=dict)
    # Where an address is in memory: what it is, a function's address or an imported name.
    slots: dict[int, int | str] = field(default_factory=dict)
    sections: list[tuple[int, bytes]] = field(default_factory=list)
    # Those that nothing writes.
    constants: list[tuple[int, bytes]] = field(default_factory=list)

    def name(self, address: int) -> str | None:
        function = self.functions.get(address)
        return function.name if function else None

    def bytes_at(self, address: int, count: int) -> bytes:
        for start, content in self.sections:
            if start <= address < start + len(content):
                return content[address - start : address - start + count]
        return b""


def read(path: Path) -> Program:
    """Raises ValueError for what is no 64-bit little-endian ELF file of a machine that is read."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        raise ValueError(f"{path}: not an ELF file of 64 bits, low byte first")
    machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0])
    if machine is None:
        raise ValueError(f"{path}: neither x86-64 nor AArch64")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    contents = [b"" if h[1] == 8 else data[h[4] : h[4] + h[5]] for h in heads]

    def text(strings: bytes, at: int) -> str:
        return strings[at : strings.index(b"\0", at)].decode()

    program = Program(path, machine)
    symbols: dict[int, list[tuple[str, int, int, int]]] = {}
    for i, head in enumerate(heads):
        if head[1] in (2, 11):
            strings = contents[head[6]]
            symbols[i] = [
                (text(strings, name), info & 15, value, length)
                for name, info, _, _, value, length in struct.iter_unpack("<IBBHQQ", contents[i])
            ]
        if head[2] & 2:
            program.sections.append((head[3], contents[i]))
            if not head[2] & 1:
                program.constants.append((head[3], contents[i]))
    # Functions, one name each; those of assembly have no size of their own and are left out.
    named = {
        value: (name, length)
        for table_of in symbols.values()
        for name, kind, value, length in table_of
        if kind == 2 and value and length
    }
    plain = demangled([name for name, _ in named.values()])
    for (address, (_, length)), name in zip(named.items(), plain, strict=True):
        for head, content in zip(heads, contents, strict=True):
            if head[2] & 4 and head[3] <= address < head[3] + head[5]:
                code = content[address - head[3] : address - head[3] + length]
                program.functions[address] = Function(address, code, name)
    for i, head in enumerate(heads):
        if head[1] == 4:
            for where, info, addend in struct.iter_unpack("<QQq", contents[i]):
                if info & 0xFFFFFFFF in RELATIVE[machine]:
                    program.slots[where] = addend
                elif info & 0xFFFFFFFF in IMPORTED[machine]:
                    name, _, value, _ = symbols[head[6]][info >> 32]
                    program.slots[where] = value or name
    return program


def demangled(names: list[str]) -> list[str]:
    command = ["c++filt", "--no-params"]
    done = subprocess.run(
        command, input="\n".join(names), capture_output=True, text=True, check=True
    )
    # Without the hashes of crates.
    return re.sub(r"\[[0-9a-f]{8,16}\]", "", done.stdout).splitlines()


def lines(program: Program, addresses: list[int]) -> dict[int, list[tuple[str, str]]]:
    """For each address its source: function and file:line, the innermost first."""
    if not addresses:
        return {}
    tool = "aarch64-linux-gnu-addr2line" if program.machine == "aarch64" else "addr2line"
    command = [tool, "-a", "-i", "-f", "-C", "-e", str(program.path)]
    asked = "\n".join(f"{a:#x}" for a in addresses)
    output = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    result: dict[int, list[tuple[str, str]]] = {}
    rows: list[str] = []
    for line in [*output.splitlines(), "0x"]:
        if line.startswith("0x"):
            if rows:
                result[int(rows[0], 16)] = list(zip(rows[1::2], rows[2::2], strict=True))
            rows = []
        rows.append(line.split(" (discriminator")[0])
    return result
