"""The instructions of AArch64 that the proved functions use. Names and meaning are those of Arm's manual (DDI 0487)."""

from __future__ import annotations

import re
from typing import Any

import capstone as cs
import terms as t
from arm_vectors import BITWISE, SHIFTED, Vectors
from capstone import arm64_const as a64
from machine import Content, Instruction, Opaque, Pointer
from terms import NotProved, Term

KEPT = tuple(f"x{n}" for n in range(19, 31))
_VECTORS = tuple(range(8, 16))
"""Vector registers whose low halves belong to the caller."""
_ALIAS = {"fp": "x29", "lr": "x30"}
_ARRANGED = {
    a64.ARM64_VAS_16B: (128, 8), a64.ARM64_VAS_8H: (128, 16), a64.ARM64_VAS_4S: (128, 32),
    a64.ARM64_VAS_2D: (128, 64), a64.ARM64_VAS_8B: (64, 8), a64.ARM64_VAS_4H: (64, 16),
    a64.ARM64_VAS_2S: (64, 32), a64.ARM64_VAS_1D: (64, 64),
}  # fmt: skip
"""Bits of an arrangement and of its lanes."""
_ELEMENT = {
    a64.ARM64_VAS_1B: 8, a64.ARM64_VAS_1H: 16, a64.ARM64_VAS_1S: 32, a64.ARM64_VAS_1D: 64,
    a64.ARM64_VAS_INVALID: 64,
}  # fmt: skip
"""Bits of an element; fmov names none."""
_SCALAR = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_SHIFT = {
    a64.ARM64_SFT_LSL: "lsl", a64.ARM64_SFT_LSR: "lsr", a64.ARM64_SFT_ASR: "asr", a64.ARM64_SFT_ROR: "ror",
}  # fmt: skip
_EXTENSION = {
    a64.ARM64_EXT_UXTB: "uxtb", a64.ARM64_EXT_UXTH: "uxth", a64.ARM64_EXT_UXTW: "uxtw", a64.ARM64_EXT_UXTX: "lsl",
    a64.ARM64_EXT_SXTB: "sxtb", a64.ARM64_EXT_SXTH: "sxth", a64.ARM64_EXT_SXTW: "sxtw", a64.ARM64_EXT_SXTX: "lsl",
}  # fmt: skip
_CONDITIONAL = (
    "csel", "csinc", "csinv", "csneg", "cset", "csetm", "cinc", "cinv", "cneg", "ccmp", "ccmn",
)  # fmt: skip
OPPOSITE = {"ne": "eq", "hs": "lo", "pl": "mi", "vc": "vs", "hi": "ls", "ge": "lt", "gt": "le"}
OTHER_CONDITION = OPPOSITE | {b: a for a, b in OPPOSITE.items()}


def decoded(address: int, code: bytes) -> list[Instruction]:
    """Return the instructions of a function.

    Operands: ("r", name, bits, shift or extension, count), ("i", number), ("c", condition).
    Vectors: ("v", number, bits, bits of a lane); an element: ("e", number, bits of a lane, index).
    Memory: ("m", base, displacement, register that is added or None, when the base is updated: "", "before" or "after").
    """
    reader = cs.Cs(cs.CS_ARCH_ARM64, cs.CS_MODE_ARM)
    reader.detail = True
    result = []
    for i in reader.disasm(code, address):
        text = f"{i.mnemonic} {i.op_str}"
        operands = [_operand(i, op, text) for op in i.operands if op.type != a64.ARM64_OP_SYS]
        step = re.search(r"\[(?:x\d+|sp)\], (\S+)$", i.op_str)
        if step is not None and any(operand[0] == "m" for operand in operands):
            # The base is updated afterwards; capstone lists the step or not.
            if step[1][0] != "#":
                raise NotProved(f"{text}: a step in a register")
            at = next(n for n, operand in enumerate(operands) if operand[0] == "m")
            by = t.signed(int(step[1][1:], 0) & (1 << 64) - 1, 64)
            operands[at:] = [("m", operands[at][1], by, None, "after")]
        if i.mnemonic == "movk":
            operands.append(("i", i.operands[1].shift.value))
        if i.mnemonic in _CONDITIONAL:
            operands.append(("c", i.op_str.split(", ")[-1]))
        result.append(Instruction(i.address, i.size, i.mnemonic, tuple(operands)))
    return result


def _operand(i: Any, op: Any, text: str) -> Any:
    shift, by = op.shift.type, op.shift.value
    if op.type == a64.ARM64_OP_IMM:
        if i.mnemonic == "movk" or not shift:
            return ("i", op.imm)
        if shift not in (a64.ARM64_SFT_LSL, a64.ARM64_SFT_MSL):
            raise NotProved(f"{text}: a shift")
        # MSL shifts ones in.
        ones = (1 << by) - 1 if shift == a64.ARM64_SFT_MSL else 0
        return ("i", op.imm << by | ones)
    if op.type == a64.ARM64_OP_MEM:
        index = _register(i.reg_name(op.mem.index), op, text) if op.mem.index else None
        update = "before" if i.op_str.endswith("!") else ""
        return (
            "m",
            _ALIAS.get(i.reg_name(op.mem.base), i.reg_name(op.mem.base)),
            op.mem.disp,
            index,
            update,
        )
    if op.type != a64.ARM64_OP_REG:
        raise NotProved(f"{text}: an operand")
    name = i.reg_name(op.reg)
    if name[0] == "v":
        if op.vector_index >= 0:
            return ("e", int(name[1:]), _ELEMENT[op.vas], op.vector_index)
        if op.vas not in _ARRANGED:
            raise NotProved(f"{text}: an arrangement")
        return ("v", int(name[1:]), *_ARRANGED[op.vas])
    if name[0] in _SCALAR and name != "sp":
        return ("v", int(name[1:]), _SCALAR[name[0]], _SCALAR[name[0]])
    return _register(name, op, text)


def _register(name: str, op: Any, text: str) -> Any:
    name = _ALIAS.get(name, name)
    if name[0] not in "xw" and name != "sp":
        raise NotProved(f"{text}: a register")
    change = _EXTENSION[op.ext] if op.ext else _SHIFT[op.shift.type] if op.shift.type else "lsl"
    bits = 32 if name[0] == "w" else 64
    whole = name if name == "sp" else f"x{name[1:]}"
    return ("r", whole, bits, change, op.shift.value)


_TRANSFER = re.compile(r"(ld|st)(ur|r|p)(s?)([bhw]?)$")
_STRUCTURE = re.compile(r"(ld|st)([1234])(r?)$")
_BRANCHES = ("b", "cbz", "cbnz", "tbz", "tbnz")
_PARTS = {"b": 8, "h": 16, "w": 32}

Flags = tuple[Any, ...]


class Arm(Vectors):
    """The state of the processor."""

    flags: Flags | None = None
    """What the last instruction that set the flags did; None where not known.

    ("sub" or "add", a, b, result); ("logic", result); ("bits", NZCV); ("places", offset, offset) of one region;
    ("either", bit, flags where it is set, flags where not).
    """

    def start(self, stack: int) -> None:
        self.stack = stack
        self.memory["stack"] = {}
        self.registers = {name: Opaque(name) for name in self.kept}
        self.registers["sp"] = Pointer("stack", stack)
        self.halves = {n: Opaque(f"d{n}") for n in _VECTORS}
        self.products = {}

    def check_return(self) -> None:
        for name in self.kept:
            if self.registers[name] != Opaque(name):
                raise NotProved(f"{name} is not restored")
        if self.registers["sp"] != Pointer("stack", self.stack):
            raise NotProved("the stack pointer is not restored")
        for n in _VECTORS:
            if self.halves.get(n) != Opaque(f"d{n}"):
                raise NotProved(f"d{n} is not restored")

    def floor(self) -> int:
        top = self.registers["sp"]
        if not isinstance(top, Pointer) or top.region != "stack" or top.index is not None:
            raise NotProved("the stack pointer is lost")
        return top.offset

    # --- operands

    def register(self, name: str) -> Content:
        if name == "xzr":
            return t.const(0, 64)
        if name not in self.registers:
            raise NotProved(f"{name}, which was not written")
        return self.registers[name]

    def get(self, operand: Any, bits: int = 64) -> Content:
        """A register, shifted or extended to `bits` bits, or an immediate of `bits` bits."""
        if operand[0] == "i":
            return t.const(operand[1], bits)
        if operand[0] != "r":
            raise NotProved(f"operand {operand}")
        _, name, width, change, by = operand
        content = self.register(name)
        if width == 32:
            content = t.cut(self.word(content), 0, 32)
        if change in SHIFTED:
            return SHIFTED[change](self.word(content), by) if by else content
        part = t.cut(self.word(content), 0, _PARTS[change[3]])
        return t.shifted_left((t.widened if change[0] == "u" else t.extend)(part, bits), by)

    def put(self, operand: Any, content: Content) -> None:
        _, name, bits, *_ = operand
        if name == "xzr":
            return
        self.set(name, t.widened(self.word(content), 64) if bits == 32 else content)

    def set(self, name: str, content: Content) -> None:
        self.registers[name] = content
        if name == "sp":
            self.drop_below(self.floor())

    def drop_below(self, bottom: int) -> None:
        """Forget the stack below a place: a signal handler may overwrite it."""
        self.memory["stack"] = {at: c for at, c in self.memory["stack"].items() if at >= bottom}

    # --- execution

    def step(self, instruction: Instruction) -> int | None:
        name, o = instruction.name, instruction.operands
        after = instruction.address + instruction.size
        if name == "ret" and not o:
            if self.registers["x30"] != Opaque("x30"):
                raise NotProved("a return to elsewhere")
            return None
        if name in ("nop", "bti"):
            return after
        if name == "br":
            target = self.place(self.get(o[0]))
            if target.region != "image" or target.index is not None:
                raise NotProved("a jump to elsewhere")
            return target.offset
        if name == "bl":
            self.call(int(o[0][1]), after)
            return after
        if name in _BRANCHES or name.startswith("b."):
            return int(o[-1][1]) if self.is_taken(name, o) else after
        if o[-1][0] == "m":
            self.access(name, o)
        elif any(operand[0] in "ve" for operand in o):
            self.vectors_step(name, o)
        else:
            self.scalar(name, o)
        return after

    def is_taken(self, name: str, o: tuple[Any, ...]) -> bool:
        """Return whether a branch is taken."""
        if name == "b":
            return True
        if name[:2] == "b.":
            return self.is_set(self.condition(name[2:]))
        content = self.get((*o[0][:2], 64, *o[0][3:]))
        if name in ("cbz", "cbnz"):
            if isinstance(content, Pointer):
                self.check_inside(content)
                return name == "cbnz"
            word = self.word(self.get(o[0]))
            return self.is_set(t.eq(word, t.const(0, word.width))) == (name == "cbz")
        number = o[1][1]
        if isinstance(content, Pointer):
            if self.alignment(content) < 2 << number:
                raise NotProved("a bit of an address that is not known")
            bit = t.const(content.offset >> number, 1)
        else:
            bit = t.cut(self.word(content), number, 1)
        return self.is_set(bit) == (name == "tbnz")

    def alignment(self, place: Pointer) -> int:
        """Return a number that divides the address of the region's beginning."""
        if place.index is not None:
            raise NotProved("a bit of an address")
        if place.region in ("stack", "image"):
            return 16 if place.region == "stack" else 4096
        return self.regions[place.region].align

    def check_inside(self, place: Pointer) -> None:
        """NotProved where an address may be outside its region, and so zero."""
        region = self.regions.get(place.region)
        size = region.size if region is not None else self.stack
        if (
            place.index is not None
            or place.offset > size
            or (region is not None and place.offset < 0)
        ):
            raise NotProved("an address that may be zero")

    def condition(self, name: str, flags: Flags | None = None) -> Term:
        """The bit of a condition's name."""
        if name in OPPOSITE:
            return t.invert(self.condition(OPPOSITE[name], flags))
        flags = self.flags if flags is None else flags
        if flags is None:
            raise NotProved("flags that are not modelled")
        kind = flags[0]
        if kind == "either":
            return t.mux(flags[1], self.condition(name, flags[2]), self.condition(name, flags[3]))
        if kind == "places":
            _, p, q = flags
            return t.const({"eq": p == q, "lo": p < q, "ls": p <= q}[name], 1)
        if kind == "bits":
            n, z, c, v = (flags[1] >> i & 1 for i in (3, 2, 1, 0))
            less = {"mi": n, "vs": v, "lt": n ^ v, "le": z | n ^ v}
            return t.const({"eq": z, "lo": c ^ 1, "ls": c ^ 1 | z, **less}[name], 1)
        result: Term = flags[-1]
        zero, sign = t.eq(result, t.const(0, result.width)), t.cut(result, result.width - 1, 1)
        if name in ("eq", "mi"):
            if name == "eq" and kind == "sub":
                return t.eq(flags[1], flags[2])
            return zero if name == "eq" else sign
        if kind == "logic":
            signs = {"lt": sign, "le": t.or_(sign, zero)}
            return {"lo": t.TRUE, "ls": t.TRUE, "vs": t.FALSE, **signs}[name]
        _, a, b, _ = flags
        if kind == "sub" and name != "vs":
            compare = t.lt if name in ("lt", "le") else t.below
            return compare(a, b) if name in ("lt", "lo") else t.invert(compare(b, a))
        # With a bit more, nothing overflows.
        wide, combine = a.width + 1, t.add if kind == "add" else t.sub
        total = combine(t.extend(a, wide), t.extend(b, wide))
        result = t.cut(total, a.width, 1)
        if name == "vs":
            return t.xor(result, t.cut(total, a.width - 1, 1))
        if name in ("lo", "ls"):
            result = t.invert(t.cut(t.add(t.widened(a, wide), t.widened(b, wide)), a.width, 1))
        return result if name in ("lo", "lt") else t.or_(result, zero)

    def arithmetic_flags(self, kind: str, a: Content, b: Content) -> Flags | None:
        """The flags of a sum or a difference."""
        if isinstance(a, Term) and isinstance(b, Term):
            return kind, a, b, (t.add if kind == "add" else t.sub)(a, b)
        if not isinstance(a, Pointer) or not isinstance(b, Pointer) or kind != "sub":
            return None
        if a.region == b.region and a.index is b.index:
            return "places", a.offset, b.offset
        return None

    def call(self, address: int, after: int) -> None:
        """memcpy and memset, the only functions that are called, through the linker's table."""
        name = self.callee(Pointer("image", self.slot(address)))
        if name not in ("memcpy", "memset"):
            raise NotProved(f"a call of {name}")
        to, second, count = (self.register(f"x{n}") for n in range(3))
        (self.copy if name == "memcpy" else self.fill)(to, second, self.number(count))
        self.flags = None
        self.vectors = {
            n: t.join([t.cut(value, 0, 64), self.fresh(64)])
            for n, value in self.vectors.items()
            if n in _VECTORS
        }
        self.drop_below(self.floor())
        kept = (*self.kept, "sp")
        self.registers = {n: v for n, v in self.registers.items() if n in kept} | {"x0": to}
        self.registers["x30"] = Pointer("code", after)

    def slot(self, address: int) -> int:
        """Return the place that holds the address to which an entry of the linker's table jumps."""
        entry = decoded(address, self.image(address, 16))
        if [i.name for i in entry] != ["adrp", "ldr", "add", "br"]:
            raise NotProved("a call of a function")
        page, load, _, jump = (i.operands for i in entry)
        if load[1][1] != page[0][1] or jump[0] != load[0]:
            raise NotProved("a call of a function")
        return int(page[1][1] + load[1][2])

    # --- memory

    def access(self, name: str, o: tuple[Any, ...]) -> None:
        """Loads and stores."""
        _, base, displacement, index, update = o[-1]
        at = self.register(base)
        moved = self.add(at, t.const(displacement, 64))
        if index is not None:
            moved = self.add(moved, self.get(index))
        if update == "before":
            self.set(base, moved)
        if (structure := _STRUCTURE.match(name)) is not None:
            self.structures(structure, o[:-1], at if update else moved)
        elif (transfer := _TRANSFER.match(name)) is not None:
            self.transfer(transfer, o[:-1], at if update == "after" else moved)
        else:
            raise NotProved("an instruction that is not modelled")
        if update == "after":
            self.set(base, moved)

    def transfer(self, name: re.Match[str], registers: tuple[Any, ...], at: Content) -> None:
        for i, operand in enumerate(registers):
            count = _PARTS.get(name[4], operand[2]) // 8
            place = self.add(at, t.const(count * i, 64))
            if name[1] == "ld":
                content = self.load(place, count)
                if name[4]:
                    content = (t.extend if name[3] else t.widened)(self.word(content), operand[2])
                (self.write if operand[0] == "v" else self.put)(operand, content)
            elif operand[0] == "v":
                is_kept = operand[1] in self.halves and count == 8
                self.store(
                    place, self.halves[operand[1]] if is_kept else self.vector(operand), count
                )
            else:
                content = self.get(operand)
                self.store(
                    place, t.cut(self.word(content), 0, 8 * count) if count < 8 else content, count
                )

    def structures(self, name: re.Match[str], registers: tuple[Any, ...], at: Content) -> None:
        """Loads and stores of lanes, those of several registers side by side."""
        lane = registers[0][3] if registers[0][0] == "v" else registers[0][2]
        lanes = registers[0][2] // lane if registers[0][0] == "v" and not name[3] else 1

        def place(lane_number: int, register: int) -> Content:
            number = lane_number * len(registers) + register
            if name[2] == "1":
                number = register * lanes + lane_number
            return self.add(at, t.const(number * lane // 8, 64))

        if name[1] == "st":
            for n, operand in enumerate(registers):
                for i, word in enumerate(t.lanes(self.vector(operand), lane)):
                    self.store(place(i, n), word, lane // 8)
            return
        for n, operand in enumerate(registers):
            words = [self.word(self.load(place(i, n), lane // 8)) for i in range(lanes)]
            self.write(operand, t.join(words * (operand[2] // lane) if name[3] else words))

    # --- general registers

    def scalar(self, name: str, o: tuple[Any, ...]) -> None:
        bits = o[0][2]
        zero = ("r", "xzr", bits, "lsl", 0)
        if name in ("cmp", "cmn", "tst"):
            name, o = {"cmp": "subs", "cmn": "adds", "tst": "ands"}[name], (zero, *o)
        elif name in ("neg", "negs", "mvn"):
            name, o = {"neg": "sub", "negs": "subs", "mvn": "orn"}[name], (o[0], zero, *o[1:])

        def word(index: int) -> Term:
            return self.word(self.get(o[index], bits))

        def number(index: int) -> int:
            return int(o[index][1])

        if name in ("add", "adds", "sub", "subs"):
            a, b = self.get(o[1], bits), self.get(o[2], bits)
            kind = name[:3]
            if name[3:]:
                self.flags = self.arithmetic_flags(kind, a, b)
            if o[0][1] != "xzr":
                self.put(o[0], (self.add if kind == "add" else self.subtract)(a, b))
        elif name in ("and", "orr") and isinstance(self.get(o[1], bits), Pointer):
            self.mask_address(name, o)
        elif name.removesuffix("s") in BITWISE and len(o) == 3:
            value = BITWISE[name.removesuffix("s")](word(1), word(2))
            if name[-1] == "s":
                self.flags = ("logic", value)
            self.put(o[0], value)
        elif name in ("mov", "movz"):
            self.put(o[0], self.get(o[1], bits))
        elif name == "movn":
            self.put(o[0], t.invert(word(1)))
        elif name == "movk":
            at, old = number(2), word(0)
            self.put(
                o[0],
                t.join(
                    [t.cut(old, 0, at), t.const(number(1), 16), t.cut(old, at + 16, bits - at - 16)]
                ),
            )
        elif name in ("adr", "adrp"):
            self.put(o[0], Pointer("image", number(1)))
        elif name in ("lsl", "lsr", "asr", "ror"):
            self.put(o[0], SHIFTED[name](word(1), self.number(word(2)) & (bits - 1)))
        elif name == "extr":
            self.put(o[0], t.cut(t.join([word(2), word(1)]), number(3), bits))
        elif name in ("ubfx", "sbfx", "ubfiz", "sbfiz"):
            at, count = number(2), number(3)
            widen = t.widened if name[0] == "u" else t.extend
            if name[-1] == "x":
                self.put(o[0], widen(t.cut(word(1), at, count), bits))
            else:
                self.put(o[0], t.join([t.const(0, at), widen(t.cut(word(1), 0, count), bits - at)]))
        elif name in ("bfi", "bfxil"):
            at, count, old = number(2), number(3), word(0)
            if name == "bfi":
                above = at + count
                parts = [t.cut(old, 0, at), t.cut(word(1), 0, count)]
                parts.append(t.cut(old, above, bits - above))
            else:
                parts = [t.cut(word(1), at, count), t.cut(old, count, bits - count)]
            self.put(o[0], t.join(parts))
        elif name in ("sxtb", "sxth", "sxtw", "uxtb", "uxth"):
            part = t.cut(self.word(self.get(o[1])), 0, _PARTS[name[3]])
            self.put(o[0], (t.extend if name[0] == "s" else t.widened)(part, bits))
        elif "mul" in name or name[:-1] in ("mad", "msu", "mne") or name[1:] in ("maddl", "msubl"):
            self.put(o[0], self.product(name, o, bits))
        elif name in ("ccmp", "ccmn"):
            flags = self.arithmetic_flags(
                "sub" if name == "ccmp" else "add", self.get(o[0], bits), self.get(o[1], bits)
            )
            bit, other = self.condition(o[3][1]), ("bits", number(2))
            if bit.is_const:
                self.flags = flags if bit.args[0] else other
            else:
                self.flags = None if flags is None else ("either", bit, flags, other)
        elif name in _CONDITIONAL:
            self.put(o[0], self.selected(name, o, bits))
        else:
            raise NotProved("an instruction that is not modelled")

    def product(self, name: str, o: tuple[Any, ...], bits: int) -> Term:
        """Products, with a sum or without."""
        a, b = (self.word(self.get(operand, bits)) for operand in o[1:3])
        if name in ("umulh", "smulh"):
            widen = t.widened if name[0] == "u" else t.extend
            return t.cut(t.mul(widen(a, 128), widen(b, 128)), 64, 64)
        if name[0] in "su":
            widen = t.widened if name[0] == "u" else t.extend
            a, b, name = widen(a, 64), widen(b, 64), name[1:]
        value = t.mul(a, b)
        if name in ("mul", "mull"):
            return value
        if name == "mneg":
            return t.scaled(value, -1)
        total = self.word(self.get(o[3], bits))
        return {"madd": t.add, "msub": t.sub}[name.removesuffix("l")](total, value)

    def selected(self, name: str, o: tuple[Any, ...], bits: int) -> Content:
        """The result of an instruction that a condition decides."""
        bit = self.condition(o[-1][1])
        if name in ("cset", "csetm"):
            return (t.widened if name == "cset" else t.extend)(bit, bits)
        a, b = self.get(o[1], bits), self.get(o[-2], bits)
        if name in ("cinc", "cinv", "cneg"):
            name, bit = f"cs{name[1:]}", t.invert(bit)
        if name == "csinc":
            b = self.add(b, t.const(1, bits))
        elif name != "csel":
            b = t.invert(self.word(b)) if name == "csinv" else t.scaled(self.word(b), -1)
        if bit.is_const:
            return a if bit.args[0] else b
        return t.mux(bit, self.word(a), self.word(b))

    def mask_address(self, name: str, o: tuple[Any, ...]) -> None:
        """The stack pointer rounded down, or a sum that is written as OR."""
        pointer = self.place(self.get(o[1]))
        mask = self.number(self.get(o[2]))
        if name == "orr":
            align = self.alignment(pointer)
            if mask >= align or pointer.offset % align & mask:
                raise NotProved("an address is masked")
            self.put(o[0], pointer + mask)
            return
        low = ~mask & ((1 << 64) - 1)
        if (
            pointer.region != "stack"
            or pointer.index is not None
            or low & (low + 1)
            or low >= 4096
            or o[0][1] != "sp"
        ):
            raise NotProved("an address is masked")
        self.put(o[0], Pointer(pointer.region, pointer.offset & ~low))
