"""The models of instructions against real executions: on this CPU, and for AArch64 in QEMU.

    python proofs/check_models.py [--machine x86_64|aarch64]... [--read PROGRAM] [--states 32]

Takes the instructions of the kernels and the permutations from a program, some for each form: the name and the kinds
of operands. A small program (`HARNESS`) loads all registers, flags and 256 bytes of memory from a state, executes
the instruction's bytes, and stores the state. The model runs on the same numbers. All registers, all
bytes of memory and all conditions must agree. Exit code 1 on a difference, 2 if something is missing.
"""

from __future__ import annotations

import argparse
import platform
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts/ct_code"))

try:
    import arm
    import capstone as cs
    import compiled
    import elf
    import keccak
    import terms as t
    import x86
    from machine import Content, Instruction, Machine, Pointer, Region
    from program import TARGETS, build, buildable
    from terms import NotProved, Term
except ImportError as error:
    print(f"check_models: {error.name} is missing: make setup-library", file=sys.stderr)
    sys.exit(2)

KERNELS = re.compile(r"Kernels for .*::(?!uniform|bounded|mask)\w+::h[0-9a-f]{16}$")
SLOT = 0x10000000
"""The address at which the harness executes an instruction."""
SCRATCH = 0x20000000
SIZE = 256
"""The memory of a state: its address and its bytes."""
MASK = (1 << 64) - 1
SAMPLES = 2
"""Instructions for each form."""

MAIN = f"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
extern unsigned char slot[];
void enter(unsigned char *state);
static unsigned char state[STATE] __attribute__((aligned(64)));
int main(void) {{
    unsigned char *memory = (unsigned char *){SCRATCH}UL;
    if (mmap(memory - 4096, 12288, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return 3;
    uint64_t count;
    for (uint64_t number = 0; fread(&count, 8, 1, stdin) == 1; number++) {{
        if (fread(slot, 1, 16, stdin) != 16)
            return 4;
        __builtin___clear_cache((char *)slot, (char *)slot + 16);
        fprintf(stderr, "%lu\\n", (unsigned long)number);
        while (count--) {{
            if (fread(state, 1, STATE, stdin) != STATE)
                return 5;
            memcpy(memory, state + STATE - {SIZE}, {SIZE});
            enter(state);
            memcpy(state + STATE - {SIZE}, memory, {SIZE});
            fwrite(state, 1, STATE, stdout);
        }}
    }}
    return 0;
}}
"""


def assembly_arm() -> str:
    """Assembler: TPIDR_EL0 keeps x0 while the state's address takes its place."""
    pairs = [(n, n + 1) for n in range(2, 30, 2)]
    saved = [
        *((f"x{n}", f"x{n + 1}") for n in range(19, 29, 2)),
        *((f"d{n}", f"d{n + 1}") for n in (8, 10, 12, 14)),
    ]
    lines = [
        '.section .slot,"awx",@progbits', ".globl slot, enter", "slot: .rept 4", "nop", ".endr", "b leave",
        "enter: stp x29, x30, [sp, #-176]!",
        *(f"stp {a}, {b}, [sp, #{16 + 16 * i}]" for i, (a, b) in enumerate(saved)),
        "adrp x1, saved", "add x1, x1, :lo12:saved", "mov x2, sp", "mrs x3, tpidr_el0", "stp x0, x2, [x1]",
        "str x3, [x1, #16]",
        *(f"ldp q{n}, q{n + 1}, [x0, #{272 + 16 * n}]" for n in range(0, 32, 2)),
        "ldr x1, [x0, #256]", "msr nzcv, x1", "ldr x1, [x0, #248]", "mov sp, x1",
        *(f"ldp x{a}, x{b}, [x0, #{8 * a}]" for a, b in pairs),
        "ldr x30, [x0, #240]", "ldr x1, [x0, #8]", "ldr x0, [x0]", "b slot",
        "leave: msr tpidr_el0, x0", "adrp x0, saved", "ldr x0, [x0, :lo12:saved]",
        *(f"stp x{a}, x{b}, [x0, #{8 * a}]" for a, b in pairs),
        "str x30, [x0, #240]", "str x1, [x0, #8]", "mrs x1, tpidr_el0", "str x1, [x0]", "mov x1, sp",
        "str x1, [x0, #248]", "mrs x1, nzcv", "str x1, [x0, #256]",
        *(f"stp q{n}, q{n + 1}, [x0, #{272 + 16 * n}]" for n in range(0, 32, 2)),
        "adrp x1, saved", "add x1, x1, :lo12:saved", "ldr x2, [x1, #8]", "mov sp, x2", "ldr x3, [x1, #16]",
        "msr tpidr_el0, x3",
        *(f"ldp {a}, {b}, [sp, #{16 + 16 * i}]" for i, (a, b) in enumerate(saved)),
        "ldp x29, x30, [sp], #176", "ret", ".bss", ".balign 16", "saved: .space 32",
        '.section .note.GNU-stack,"",@progbits',
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


REGISTERS = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)),
)  # fmt: skip
_RDI = REGISTERS.index("rdi")


def assembly_x86() -> str:
    """Assembler: all registers but rsp, which stays the harness's own."""
    numbers = [n for n, name in enumerate(REGISTERS) if name not in ("rsp", "rdi")]
    kept = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    lines = [
        ".intel_syntax noprefix", '.section .slot,"awx",@progbits', ".globl slot, enter", "slot: .rept 16", "nop",
        ".endr", "jmp leave",
        "enter:", *(f"push {name}" for name in kept), "mov [rip+saved], rdi",
        *(f"vmovdqu64 zmm{n}, [rdi+{256 + 64 * n}]" for n in range(32)),
        *(f"kmovq k{n}, [rdi+{136 + 8 * n}]" for n in range(8)),
        "push [rdi+128]", "popfq", *(f"mov {REGISTERS[n]}, [rdi+{8 * n}]" for n in numbers),
        f"mov rdi, [rdi+{8 * _RDI}]", "jmp slot",
        "leave: mov [rip+saved+8], rdi", "mov rdi, [rip+saved]",
        *(f"mov [rdi+{8 * n}], {REGISTERS[n]}" for n in numbers),
        "pushfq", "pop [rdi+128]", "mov rax, [rip+saved+8]", f"mov [rdi+{8 * _RDI}], rax",
        *(f"vmovdqu64 [rdi+{256 + 64 * n}], zmm{n}" for n in range(32)),
        *(f"kmovq [rdi+{136 + 8 * n}], k{n}" for n in range(8)),
        "vzeroupper", *(f"pop {name}" for name in reversed(kept)), "ret", ".bss", "saved: .space 16",
        '.section .note.GNU-stack,"",@progbits',
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


@dataclass
class State:
    """Numbers of all registers, of the flags and of the memory."""

    general: dict[str, int]
    vectors: list[int]
    flags: int
    memory: bytes
    masks: list[int] = field(default_factory=list)


class Kind(ABC):
    """A processor: its state as bytes, its model and its harness."""

    name: str
    bits: int
    """Bits of a vector register."""
    size: int
    """Bytes of a state."""
    names: tuple[str, ...]
    conditions: tuple[str, ...]
    compiler: str
    run: tuple[str, ...] = ()
    nops: bytes

    @abstractmethod
    def missing(self) -> str:
        """Return what is missing for the harness."""

    @abstractmethod
    def assembly(self) -> str:
        """Return the part of the harness that loads and stores registers."""

    @abstractmethod
    def decode(self, code: bytes) -> tuple[Instruction, bytes]:
        """Return an instruction at the harness's place, and its bytes."""

    @abstractmethod
    def pack(self, s: State) -> bytes:
        """Return a state's bytes, the memory last."""

    @abstractmethod
    def unpack(self, data: bytes) -> State:
        """Return the state of such bytes."""

    @abstractmethod
    def new_flags(self, source: random.Random) -> tuple[int, Any]:
        """Return flags, and the model's."""

    @abstractmethod
    def machine(self, flags: Any) -> Machine:
        """Return a model with flags."""

    @abstractmethod
    def truth(self, flags: int, name: str) -> bool:
        """Return a condition's value, by the manual."""

    @abstractmethod
    def skipped(self, i: Instruction) -> str:
        """Return why an instruction is not compared."""


class ArmKind(Kind):
    name, bits, size = "aarch64", 128, 784 + SIZE
    conditions = ("eq", "lo", "mi", "vs", "ls", "lt", "le")
    compiler, run = "aarch64-linux-gnu-gcc", ("qemu-aarch64",)
    names = (*(f"x{n}" for n in range(31)), "sp")

    def missing(self) -> str:
        return next(
            (f"{tool} is missing" for tool in (self.compiler, *self.run) if not shutil.which(tool)),
            "",
        )

    nops = bytes.fromhex("1f2003d5") * 4

    def assembly(self) -> str:
        return assembly_arm()

    def decode(self, code: bytes) -> tuple[Instruction, bytes]:
        return arm.decoded(SLOT, code)[0], code

    def pack(self, s: State) -> bytes:
        general = struct.pack("<34Q", *(s.general[name] for name in self.names), s.flags << 28, 0)
        return general + b"".join(v.to_bytes(16, "little") for v in s.vectors) + s.memory

    def unpack(self, data: bytes) -> State:
        numbers = struct.unpack_from("<33Q", data)
        vectors = [int.from_bytes(data[at : at + 16], "little") for at in range(272, 784, 16)]
        return State(
            dict(zip(self.names, numbers, strict=False)), vectors, numbers[32] >> 28, data[784:]
        )

    def machine(self, flags: Any) -> Machine:
        machine = arm.Arm({}, lambda *_: b"", lambda _: None, ())
        machine.start(0)
        machine.halves = {}
        machine.flags = flags
        return machine

    def truth(self, flags: int, name: str) -> bool:
        n, z, c, v = (bool(flags >> i & 1) for i in (3, 2, 1, 0))
        values = {
            "eq": z,
            "lo": not c,
            "mi": n,
            "vs": v,
            "ls": not c or z,
            "lt": n != v,
            "le": z or n != v,
        }
        return values[name]

    def skipped(self, i: Instruction) -> str:
        if (
            i.name in ("b", "bl", "br", "blr", "ret", "cbz", "cbnz", "tbz", "tbnz")
            or i.name[:2] == "b."
        ):
            return "branches, calls and returns"
        return ""

    def new_flags(self, source: random.Random) -> tuple[int, Any]:
        number = source.randrange(16)
        return number, ("bits", number)


class X86Kind(Kind):
    name, bits, size = "x86_64", 512, 256 + 32 * 64 + SIZE
    conditions = ("e", "b", "be", "s", "l", "le")
    compiler = "cc"
    names = tuple(name for name in REGISTERS if name != "rsp")

    def missing(self) -> str:
        if platform.machine() != "x86_64" or " avx512vbmi" not in Path("/proc/cpuinfo").read_text(
            encoding="utf-8"
        ):
            return "needs a CPU with AVX-512"
        return "" if shutil.which(self.compiler) else "cc is missing"

    nops = b"\x90" * 16

    def assembly(self) -> str:
        return assembly_x86()

    def decode(self, code: bytes) -> tuple[Instruction, bytes]:
        return without_rsp(x86.decoded(SLOT, code)[0], code)

    def pack(self, s: State) -> bytes:
        general = (s.general.get(name, 0) for name in REGISTERS)
        head = struct.pack("<25Q56x", *general, s.flags, *s.masks)
        return head + b"".join(v.to_bytes(64, "little") for v in s.vectors) + s.memory

    def unpack(self, data: bytes) -> State:
        numbers = struct.unpack_from("<25Q", data)
        vectors = [int.from_bytes(data[at : at + 64], "little") for at in range(256, 2304, 64)]
        general = {name: n for name, n in zip(REGISTERS, numbers, strict=False) if name != "rsp"}
        return State(general, vectors, numbers[16], data[2304:], list(numbers[17:]))

    def machine(self, flags: Any) -> Machine:
        machine = x86.X86({}, lambda *_: b"", lambda _: None, ())
        machine.start(0)
        machine.flags = flags
        return machine

    def truth(self, flags: int, name: str) -> bool:
        carry, zero, sign, over = (bool(flags >> i & 1) for i in (0, 6, 7, 11))
        less = sign != over
        values = {
            "e": zero,
            "b": carry,
            "be": carry or zero,
            "s": sign,
            "l": less,
            "le": less or zero,
        }
        return values[name]

    def skipped(self, i: Instruction) -> str:
        if i.name[0] == "j" or i.name in ("call", "ret", "push", "pop"):
            return "branches, calls, returns, push and pop"
        if any("rsp" in operand[1:3] for operand in i.operands):
            return "rsp"
        return ""

    def new_flags(self, source: random.Random) -> tuple[int, Any]:
        """Return flags as after a comparison, and the model's."""
        bits = source.choice((8, 32, 64))
        a, b = (value(source, bits) for _ in range(2))
        b = source.choice((a, b, b))
        result, top = (a - b) & ((1 << bits) - 1), bits - 1
        over = ((a ^ b) & (a ^ result)) >> top & 1
        number = 2 | (a < b) | (result == 0) << 6 | (result >> top) << 7 | over << 11
        return number, ("sub", *(t.const(word, bits) for word in (a, b, result)))


KINDS: tuple[Kind, ...] = (ArmKind(), X86Kind())


def kind_of(machine: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == machine)


# --- states


def corners(width: int) -> tuple[int, ...]:
    half = 1 << (width - 1)
    return 0, half, half - 1, 2 * half - 1, 1, half + 1


def value(source: random.Random, bits: int) -> int:
    """Return a number whose lanes are random, small, or the ends of their range."""
    width = min(bits, source.choice((8, 16, 32, 64)))
    kind = source.randrange(4)
    lanes = [source.getrandbits(width) for _ in range(bits // width)]
    if kind == 1:
        lanes = [source.choice(corners(width)) for _ in lanes]
    elif kind == 2:
        lanes = [source.choice(corners(width))] * len(lanes)
    elif kind == 3:
        lanes = [(source.randrange(-4, 70)) & ((1 << width) - 1) for _ in lanes]
    return sum(lane << width * i for i, lane in enumerate(lanes))


def touched(i: Instruction) -> tuple[set[str], set[int], set[int]]:
    """Return the general registers, vector registers and mask registers of an instruction."""
    general, vectors, masks = {"rax", "rcx", "rdx"}, set(), set()
    for operand in i.operands:
        if operand[0] == "r":
            general.add(operand[1])
        elif operand[0] in "ve":
            vectors.add(operand[1])
        elif operand[0] in ("k", x86.MASKED):
            masks.add(operand[1])
    return general, vectors, masks


def base_of(i: Instruction, state: State, at: int, source: random.Random) -> tuple[str, int]:
    """Choose a base register's number so that a memory operand is `at` in the memory; set the index."""
    operand = next(o for o in i.operands if o[0] in ("m", "b"))
    if len(operand) == 5:
        _, base, displacement, index, update = operand
        by = 0 if update == "after" else displacement
        if index is not None:
            _, name, bits, change, shift = index
            number = source.getrandbits(32 if bits == 64 else 64)
            if bits == 64 and source.random() < 0.3:
                number = -number & MASK
            state.general[name] = number
            if bits == 32:
                number &= 0xFFFFFFFF
                number = t.signed(number, 32) if change == "sxtw" else number
            by += number << shift
        number = (SCRATCH + at - by) & MASK
        return base, number & ~15 if base == "sp" else number
    _, base, index, scale, displacement, _ = operand
    if index:
        number = source.randrange(-1000, 1000)
        state.general[index] = number & MASK
        displacement += number * scale
    return base, (SCRATCH + at - displacement) & MASK


def states_of(
    kind: Kind, i: Instruction, count: int, source: random.Random
) -> Iterator[tuple[State, Any]]:
    """Return states for an instruction, each with the flags of the model."""
    general, vectors, masks = touched(i)
    has_memory = i.name != "lea" and any(o[0] in ("m", "b") for o in i.operands)
    ends = [(width, end) for width in (64, 32, 16, 8) for end in corners(width)]
    common = State(
        {name: value(source, 64) for name in kind.names},
        [value(source, kind.bits) for _ in range(32)],
        0,
        source.randbytes(SIZE),
        [source.getrandbits(64) for _ in range(8)],
    )
    common.general["sp"] = SCRATCH
    for number in range(count):
        flags, model = kind.new_flags(source)
        state = State(
            dict(common.general), list(common.vectors), flags, common.memory, list(common.masks)
        )
        same = None
        if number < len(ends):
            width, end = ends[number]
            same = sum(end << at for at in range(0, kind.bits, width))
            state.memory = (same & MASK).to_bytes(8, "little") * (SIZE // 8)
        elif has_memory:
            state.memory = value(source, 8 * SIZE).to_bytes(SIZE, "little")
        for name in general - {"xzr", "sp"}:
            if name in state.general:
                state.general[name] = same & MASK if same is not None else value(source, 64)
        for n in vectors:
            state.vectors[n] = same if same is not None else value(source, kind.bits)
        if vectors and source.random() < 0.2:
            # Equal lanes, for comparisons.
            first, *_ = vectors
            for n in vectors:
                keep = source.getrandbits(kind.bits // 32)
                lanes = sum(
                    0xFFFFFFFF << 32 * at for at in range(kind.bits // 32) if keep >> at & 1
                )
                state.vectors[n] = (state.vectors[n] & ~lanes) | (state.vectors[first] & lanes)
        for n in masks:
            state.masks[n] = same & MASK if same is not None else value(source, 64)
        if has_memory:
            is_aligned = i.name[0] != "v" or "dqa" in i.name or "ap" in i.name
            base, address = base_of(
                i, state, 64 if is_aligned else source.randrange(32, 128), source
            )
            if base != "rip":
                state.general[base] = address
        yield state, model


# --- models

BEGIN = {"scratch": SCRATCH, "stack": SCRATCH, "image": 0}


def number_of(content: Content) -> int | None:
    """Return the number of a register or a word; None where the model does not know it."""
    if isinstance(content, Pointer) and content.index is None:
        return (BEGIN[content.region] + content.offset) & MASK
    if isinstance(content, Term) and content.is_const:
        return int(content.args[0])
    return None


def modelled(
    kind: Kind, i: Instruction, state: State, flags: Any, constants: dict[Any, Term]
) -> Machine:
    """Return the model after the instruction."""

    def const(number: int, bits: int) -> Term:
        term = constants.get((number, bits))
        if term is None:
            term = constants[number, bits] = t.const(number, bits)
        return term

    machine = kind.machine(flags)
    machine.registers |= {name: const(number, 64) for name, number in state.general.items()}
    machine.registers |= {
        f"k{n}": const(number, 64) for n, number in enumerate(state.masks) if kind.name == "x86_64"
    }
    machine.vectors = {n: const(number, kind.bits) for n, number in enumerate(state.vectors)}
    machine.image = lambda at, count: (
        state.memory[at - SCRATCH : at - SCRATCH + count] if at >= SCRATCH else b""
    )
    words = [
        const(int.from_bytes(state.memory[at : at + 8], "little"), 64) for at in range(0, SIZE, 8)
    ]
    machine.operand("scratch", Region(SIZE, 64), words)
    if kind.name == "aarch64":
        machine.stack = 4096
        machine.memory["stack"] = dict(machine.memory["scratch"])
        machine.registers["sp"] = Pointer("stack", t.signed(state.general["sp"], 64) - SCRATCH)
    operand = next((o for o in i.operands if o[0] in ("m", "b") and i.name != "lea"), None)
    if operand is not None and operand[1] not in ("sp", "rip"):
        machine.registers[operand[1]] = Pointer(
            "scratch", t.signed((state.general[operand[1]] - SCRATCH) & MASK, 64)
        )
    if machine.step(i) != i.address + i.size:
        raise NotProved("a jump")
    return machine


def differences(
    kind: Kind, i: Instruction, machine: Machine, real: State, conditions: Counter[str]
) -> str:
    """Return where the model is wrong."""
    numbers: list[tuple[str, Content, int]] = [
        (n, machine.registers[n], real.general[n]) for n in kind.names
    ]
    numbers += [(f"v{n}", machine.vectors[n], number) for n, number in enumerate(real.vectors)]
    if kind.name == "x86_64":
        numbers += [
            (f"k{n}", machine.registers[f"k{n}"], number) for n, number in enumerate(real.masks)
        ]
    for name, content, number in numbers:
        if number_of(content) not in (number, None):
            return f"{name} is {number:#x}, in the model {number_of(content):#x}"
    is_stack = any(o[0] == "m" and o[1] == "sp" for o in i.operands)
    for at, (content, byte) in machine.memory["stack" if is_stack else "scratch"].items():
        word = number_of(content)
        if word is not None and 0 <= at < SIZE and word >> 8 * byte & 255 != real.memory[at]:
            return f"byte {at} of the memory"
    for name in kind.conditions:
        try:
            bit = machine.condition(name)  # type: ignore[attr-defined]
        except (NotProved, KeyError):
            continue
        if bit.is_const:
            conditions[i.name] += 1
            if bool(bit.args[0]) != kind.truth(real.flags, name):
                return f"condition {name}"
    return ""


# --- programs


def form(i: Instruction) -> tuple[Any, ...]:
    """Return the name and the kinds of operands."""
    kinds: list[Any] = []
    for operand in i.operands:
        letter, *rest = operand
        if letter == "r":
            kinds.append((letter, *rest[1:3], rest[0] in ("xzr", "sp")))
        elif letter == "v":
            kinds.append((letter, *rest[1:]))
        elif letter == "e":
            kinds.append((letter, rest[1]))
        elif letter == "m" and len(rest) == 4:
            kinds.append((letter, rest[2] and rest[2][2:4], rest[3], rest[0] == "sp"))
        elif letter in ("m", "b"):
            kinds.append((letter, bool(rest[1]), rest[-1], i.name == "lea"))
        elif letter == "c":
            kinds.append(operand)
        else:
            kinds.append((letter, *rest[1:]))
    names = [operand[:2] for operand in i.operands if operand[0] in "rv"]
    return i.name, len(set(names)) == 1, *kinds


def moved_to_slot(raw: Any) -> bytes:
    """Return an instruction's bytes; one that reads at rip reads the scratch memory."""
    code = bytearray(raw.bytes)
    if "rip" in raw.op_str and raw.mnemonic != "lea":
        displacement = next(o.mem.disp for o in raw.operands if o.type == cs.x86.X86_OP_MEM)
        at = code.rindex(struct.pack("<i", displacement))
        code[at : at + 4] = struct.pack("<i", SCRATCH + 64 - SLOT - len(code))
    return bytes(code)


def without_rsp(i: Instruction, code: bytes) -> tuple[Instruction, bytes]:
    """Return the instruction with rbx in place of rsp as a base, where there is one."""
    changed = [
        (o[0], "rbx", *o[2:]) if o[0] in ("m", "b") and o[1] == "rsp" else o for o in i.operands
    ]
    for at in range(len(code)):
        # The lowest bits of a SIB byte.
        other = bytes([*code[:at], code[at] ^ 7, *code[at + 1 :]])
        if code[at] & 7 == 4 and changed != list(i.operands):
            try:
                result = x86.decoded(SLOT, other)[0]
            except (NotProved, IndexError):
                continue
            # Where such a byte names no index, capstone calls it riz.
            operands = [tuple("" if part == "riz" else part for part in o) for o in result.operands]
            if (result.name, result.size, operands) == (i.name, i.size, changed):
                return replace(i, operands=tuple(changed)), other
    return i, code


def instructions(
    kind: Kind, program: elf.Program
) -> tuple[dict[Any, list[tuple[Instruction, bytes]]], Counter[str]]:
    """Return instructions of the kernels and permutations by form, and how many forms are not compared, by reason."""
    reader = (
        cs.Cs(cs.CS_ARCH_ARM64, cs.CS_MODE_ARM)
        if kind.name == "aarch64"
        else cs.Cs(cs.CS_ARCH_X86, cs.CS_MODE_64)
    )
    reader.detail = True
    forms: dict[Any, list[tuple[Instruction, bytes]]] = defaultdict(list)
    left: dict[Any, str] = {}
    entries = keccak.ENTRIES[kind.name]
    for function in program.functions.values():
        if not KERNELS.search(function.name) and not any(
            e.pattern.search(function.name) for e in entries
        ):
            continue
        for raw in reader.disasm(function.code, function.address):
            code = moved_to_slot(raw)
            try:
                i, code = kind.decode(code)
            except NotProved as error:
                left[raw.mnemonic] = f"not modelled: {error}"
                continue
            key = form(i)
            if reason := kind.skipped(i):
                left[key] = reason
            elif len(forms[key]) < SAMPLES and all(
                i.operands != other.operands for other, _ in forms[key]
            ):
                forms[key].append((i, code))
    reasons = Counter(reason for key, reason in left.items() if not forms.get(key))
    return {key: chosen for key, chosen in forms.items() if chosen}, reasons


def harness(kind: Kind, folder: Path) -> Path:
    """Build the program that executes instructions."""
    (folder / "stub.s").write_text(kind.assembly(), encoding="utf-8")
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    place = folder / "harness"
    command = [
        kind.compiler,
        "-O1",
        "-static",
        "-no-pie",
        f"-DSTATE={kind.size}",
        "-Wl,--no-warn-rwx-segments",
    ]
    command += [f"-Wl,--section-start=.slot={SLOT:#x}", "main.c", "stub.s", "-o", str(place)]
    subprocess.run(command, cwd=folder, check=True)
    return place


def judge(
    kind: Kind, i: Instruction, states: list[tuple[State, Any]], results: bytes, refused: Counter[str],
    conditions: Counter[str],
) -> list[str]:  # fmt: skip
    """Return the first difference between the model and the results."""
    constants: dict[Any, Term] = {}
    for number, (state, flags) in enumerate(states):
        real = kind.unpack(results[number * kind.size : (number + 1) * kind.size])
        try:
            machine = modelled(kind, i, state, flags, constants)
        except (
            NotProved,
            KeyError,
            IndexError,
            TypeError,
            ValueError,
            AttributeError,
            AssertionError,
        ) as error:
            refused[f"{i.name}: {error!r}"] += 1
            continue
        if why := differences(kind, i, machine, real, conditions):
            return [f"{i}: {why}"]
    return []


def compare(program: elf.Program, count: int) -> list[str]:
    """Print a row for a program's machine; return the differences."""
    kind = kind_of(program.machine)
    if reason := kind.missing():
        print(f"{kind.name:8} is left out: {reason}")
        return []
    forms, reasons = instructions(kind, program)
    source = random.Random(1)
    wrong: list[str] = []
    refused: Counter[str] = Counter()
    conditions: Counter[str] = Counter()
    chosen = [pair for pairs in forms.values() for pair in pairs]
    with tempfile.TemporaryDirectory() as folder:
        command = [*kind.run, str(harness(kind, Path(folder)))]
        for first in range(0, len(chosen), 50):
            t.forget()
            some = chosen[first : first + 50]
            states = [list(states_of(kind, i, count, source)) for i, _ in some]
            data = b"".join(
                struct.pack("<Q", count)
                + code
                + kind.nops[len(code) :]
                + b"".join(kind.pack(state) for state, _ in own)
                for (_, code), own in zip(some, states, strict=True)
            )
            done = subprocess.run(command, input=data, capture_output=True)
            if done.returncode:
                at = int(done.stderr.split()[-2])
                raise ValueError(f"{some[at][0]}: the harness ends with {done.returncode}")
            for number, (i, _) in enumerate(some):
                results = done.stdout[number * count * kind.size :]
                wrong += judge(kind, i, states[number], results, refused, conditions)
    print(
        f"{kind.name:8} {len(forms):6} {len(chosen):12} {count:6} {sum(conditions.values()):10} {len(wrong):11}"
    )
    for reason, number in reasons.items():
        print(f"         not compared: {number} forms: {reason}")
    for reason, number in refused.items():
        print(f"         not modelled: {number} states: {reason}")
    return wrong


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="check_models", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--machine", action="append", choices=TARGETS)
    parser.add_argument(
        "--read", type=Path, action="append", help="a program that is there; repeatable"
    )
    parser.add_argument("--states", type=int, default=32, help="for each instruction")
    options = parser.parse_args()
    wrong = []
    print(
        f"{'machine':8} {'forms':>6} {'instructions':>12} {'states':>6} {'conditions':>10} {'differences':>11}"
    )
    try:
        for path in options.read or []:
            wrong += compare(elf.read(path), options.states)
        for machine in () if options.read else options.machine or TARGETS:
            if buildable(machine):
                for path in (build(machine, "default", None), compiled.build_inside(machine)):
                    wrong += compare(elf.read(path), options.states)
    except (subprocess.CalledProcessError, ValueError, OSError, struct.error) as error:
        print(f"check_models: {error}", file=sys.stderr)
        return 2
    for line in wrong:
        print(f"check_models: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
