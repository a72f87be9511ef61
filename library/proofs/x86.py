"""The instructions of x86-64 that the proved functions use. Names and meaning are those of Intel's manual, volume 2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import capstone as cs
import terms as t
from capstone import x86_const as x
from machine import Content, Instruction, Machine, Opaque, Pointer
from terms import NotProved, Term

KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
_BITS = {
    **{f"{p}{n}{s}": (f"r{n}{s}", b) for p, b in (("e", 32), ("", 16)) for n, s in
       (*((c, "x") for c in "abcd"), ("s", "i"), ("d", "i"), ("b", "p"), ("s", "p"))},
    **{f"{n}l": (f"r{n}x", 8) for n in "abcd"},
    **{f"{n}l": (f"r{n}", 8) for n in ("si", "di", "bp", "sp")},
    **{f"r{n}{s}": (f"r{n}", b) for n in range(8, 16) for s, b in (("d", 32), ("w", 16), ("b", 8))},
}  # fmt: skip
"""Parts of registers: the register and the part's bits."""
_VECTOR = {"xmm": 128, "ymm": 256, "zmm": 512}
MASKED = "masked"
_ELEMENT = {"b": 8, "w": 16, "d": 32, "q": 64}


def decoded(address: int, code: bytes) -> list[Instruction]:
    """Return the instructions of a function.

    Operands: ("r", name, bits), ("v", number, bits), ("k", number), ("i", number).
    Memory: ("m", base, index, scale, displacement, bytes), with "b" in place of "m" if it is read for all lanes.
    Last, if masked: (MASKED, register, zeroes).
    """
    reader = cs.Cs(cs.CS_ARCH_X86, cs.CS_MODE_64)
    reader.detail = True
    result = []
    for i in reader.disasm(code, address):
        operands: list[Any] = []
        masks: list[int] = []
        is_masked = "{k" in i.op_str
        for op in i.operands if i.mnemonic != "nop" else ():
            name = i.reg_name(op.reg) if op.type == x.X86_OP_REG else ""
            text = f"{i.mnemonic} {i.op_str}"
            if op.type == x.X86_OP_IMM:
                operands.append(("i", op.imm))
            elif op.type == x.X86_OP_MEM:
                m = op.mem
                base, index = (i.reg_name(r) if r else "" for r in (m.base, m.index))
                shift = i.address + i.size if base == "rip" else 0
                if m.segment:
                    raise NotProved(f"{text}: a segment")
                operands.append(("m", base, index, m.scale, m.disp + shift, op.size))
                if "{1to" in i.op_str:
                    operands[-1] = ("b", *operands[-1][1:])
            elif name[:3] in _VECTOR:
                operands.append(("v", int(name[3:]), _VECTOR[name[:3]]))
            elif (
                name[0] == "k"
                and is_masked
                and f"{{{name}}}" in i.op_str
                and not masks
                and operands
            ):
                masks.append(int(name[1:]))
            elif name[0] == "k":
                operands.append(("k", int(name[1:])))
            else:
                whole, bits = _BITS.get(name, (name, 64))
                if op.size * 8 != bits:
                    raise NotProved(f"{text}: a part of a register")
                operands.append(("r", whole, bits))
        for number in masks:
            operands.append((MASKED, number, "{z}" in i.op_str))
        result.append(Instruction(i.address, i.size, i.mnemonic, tuple(operands)))
    return result


def _multiplied(a: Term, b: Term, widen: Callable[[Term, int], Term]) -> Term:
    """The product of the low halves of two lanes."""
    half = a.width // 2
    return t.mul(widen(t.cut(a, 0, half), a.width), widen(t.cut(b, 0, half), b.width))


def _saturated(a: Term, width: int, low: int, high: int) -> Term:
    """`a`, brought into bounds, in `width` bits."""
    over = t.lt(t.const(high, a.width), a)
    under = t.lt(a, t.const(low, a.width))
    inside = t.mux(under, t.const(low, width), t.cut(a, 0, width))
    return t.mux(over, t.const(high, width), inside)


def _chosen(table: int, a: Term, b: Term, c: Term) -> Term:
    """The function of three words whose value for bits a, b, c is bit 4a + 2b + c of `table`."""
    values = [table >> i & 1 for i in range(8)]
    # Its algebraic normal form: index bits 4, 2, 1 stand for a, b, c.
    for bit in (1, 2, 4):
        values = [v ^ (values[i ^ bit] if i & bit else 0) for i, v in enumerate(values)]
    result = t.const(-values[0], a.width)
    for index in range(1, 8):
        if values[index]:
            product = t.const(-1, a.width)
            for bit, word in ((4, a), (2, b), (1, c)):
                product = t.and_(product, word) if index & bit else product
            result = t.xor(result, product)
    return result


def _absolute(a: Term) -> Term:
    return t.mux(t.lt(a, t.const(0, a.width)), t.scaled(a, -1), a)


def _greater(a: Term, b: Term) -> Term:
    return t.extend(t.lt(b, a), a.width)


LANEWISE: dict[str, Callable[..., Term]] = {
    "padd": t.add,
    "psub": t.sub,
    "pmull": t.mul,
    "pmuld": lambda a, b: _multiplied(a, b, t.extend),
    "pmulud": lambda a, b: _multiplied(a, b, t.widened),
    "pmaxs": lambda a, b: t.mux(t.lt(a, b), b, a),
    "pcmpgt": _greater,
    "pabs": _absolute,
    "pand": t.and_,
    "pandn": lambda a, b: t.and_(t.invert(a), b),
    "por": t.or_,
    "pxor": t.xor,
    "prol": t.rotated,
    "psll": t.shifted_left,
    "psrl": t.shifted_right,
    "psra": t.shifted_signed,
}
"""By name without the size of the lanes; the second operand of the last four is a number."""
_SHIFTS = ("prol", "psll", "psrl", "psra")
_WHOLE = {
    "xorps": "pxord",
    "vxorps": "vpxord",
    "pand": "pandd",
    "pandn": "pandnd",
    "por": "pord",
    "pxor": "pxord",
}
_MOVES = re.compile(r"v?mov(dq[au]|[au]p[sd])(8|16|32|64)?$")
_COMPARED = re.compile(r"vpcmp(gt|lt|ltu|le|eq|nle|nlt|neq)(ud|d|q|b)$")


class X86(Machine):
    """The state of the processor."""

    flags: tuple[str, Term, Term, Term] | None = None
    """The last result that set the flags: the operation, its operands, and the result; None where not known."""
    compared: tuple[int, int] | None = None
    """Two addresses, as offsets in one region."""

    def start(self, stack: int) -> None:
        self.stack = stack
        self.memory["stack"] = {}
        self.registers = {name: Opaque(name) for name in self.kept}
        self.registers["rsp"] = Pointer("stack", stack)

    def check_return(self) -> None:
        for name in self.kept:
            if self.registers[name] != Opaque(name):
                raise NotProved(f"{name} is not restored")
        if self.registers["rsp"] != Pointer("stack", self.stack + 8):
            raise NotProved("the stack pointer is not restored")

    def floor(self) -> int:
        top = self.registers["rsp"]
        if not isinstance(top, Pointer) or top.region != "stack":
            raise NotProved("the stack pointer is lost")
        return top.offset - 128

    def above(self) -> int:
        return self.stack + 8

    # --- operands

    def address(self, operand: Any) -> Content:
        _, base, index, scale, displacement, _ = operand
        if base == "rip":
            return Pointer("image", displacement)
        at: Content = self.register(base) if base else t.const(0, 64)
        if index:
            by = self.register(index)
            at = self.add(at, by if scale == 1 else t.scaled(self.word(by), scale))
        return self.add(at, t.const(displacement, 64))

    def register(self, name: str) -> Content:
        if name not in self.registers:
            self.registers[name] = self.fresh(64)
        return self.registers[name]

    def get(self, operand: Any, bits: int | None = None) -> Content:
        """A general register, an immediate of `bits` bits, or memory."""
        kind: str = operand[0]
        if kind == "r":
            content = self.register(operand[1])
            return content if operand[2] == 64 else t.cut(self.word(content), 0, operand[2])
        if kind == "i":
            return t.const(operand[1], bits or 64)
        if kind == "m":
            return self.load(self.address(operand), operand[5])
        raise NotProved(f"operand {operand}")

    def put(self, operand: Any, content: Content) -> None:
        if operand[0] == "m":
            self.store(self.address(operand), content, operand[5])
            return
        name, bits = operand[1:]
        if bits == 64:
            self.registers[name] = content
        elif bits == 32:
            self.registers[name] = t.widened(self.word(content), 64)
        else:
            old = self.registers.get(name)
            above = t.cut(old, bits, 64 - bits) if isinstance(old, Term) else self.fresh(64 - bits)
            self.registers[name] = t.join([self.word(content), above])

    def mask(self, number: int) -> Term:
        return self.word(self.register(f"k{number}"))

    def vector(self, operand: Any, bits: int, element: int = 64, mask: Term | None = None) -> Term:
        """`bits` bits of a vector register or of memory; elements of memory that a mask leaves out are not read."""
        if operand[0] == "v":
            if operand[1] not in self.vectors:
                self.vectors[operand[1]] = self.fresh(512)
            return t.cut(self.vectors[operand[1]], 0, bits)
        at = self.address(operand)
        if operand[0] == "b":
            return t.join([self.word(self.load(at, operand[5]))] * (bits // (8 * operand[5])))
        if mask is None:
            return self.word(self.load(at, bits // 8))
        parts = []
        for i in range(bits // element):
            is_read = self.number(t.cut(mask, i, 1))
            place = self.add(at, t.const(i * element // 8, 64))
            parts.append(
                self.word(self.load(place, element // 8)) if is_read else t.const(0, element)
            )
        return t.join(parts)

    def write(self, operand: Any, value: Term, is_legacy: bool, element: int, masked: Any) -> None:
        """Write a vector: the register's other bits become zero, or stay in a legacy instruction; or memory."""
        bits = value.width
        mask = None if masked is None else self.mask(masked[0])
        if operand[0] == "v":
            if mask is not None:
                old = t.const(0, bits) if masked[1] else self.vector(operand, bits)
                pairs = zip(t.lanes(value, element), t.lanes(old, element), strict=True)
                value = t.join(t.mux(t.cut(mask, i, 1), n, o) for i, (n, o) in enumerate(pairs))
            above = t.const(0, 512 - bits)
            if is_legacy:
                held = self.vectors.get(operand[1])
                above = (
                    t.cut(held, bits, 512 - bits) if held is not None else self.fresh(512 - bits)
                )
            self.vectors[operand[1]] = t.join([value, above])
            return
        at = self.address(operand)
        if mask is None:
            self.store(at, value, bits // 8)
            return
        for i, part in enumerate(t.lanes(value, element)):
            if self.number(t.cut(mask, i, 1)):
                self.store(self.add(at, t.const(i * element // 8, 64)), part, element // 8)

    # --- execution

    def step(self, instruction: Instruction) -> int | None:
        name, o = instruction.name, instruction.operands
        after = instruction.address + instruction.size
        masked = None
        if o and o[-1][0] == MASKED:
            masked, o = o[-1][1:], o[:-1]
        if name[0] == "j":
            return self.jump(name, o, after)
        if name == "call":
            self.call(o[0])
        elif name == "ret" and not o:
            self.leave()
            return None
        elif name in ("nop", "endbr64"):
            pass
        elif name == "vzeroupper":
            self.vectors = {
                n: t.widened(t.cut(v, 0, 128), 512) if n < 16 else v
                for n, v in self.vectors.items()
            }
        elif name[0] == "k":
            self.masks(name, o)
        elif any(operand[0] == "v" for operand in o):
            self.vectors_step(name, o, masked)
        else:
            self.scalar(name, o)
        return after

    def jump(self, name: str, o: tuple[Any, ...], after: int) -> int | None:
        if name == "jmp" and o[0][0] == "m" and o[0][1] == "rip":
            # A call at the end, in place of the return.
            self.call(o[0])
            self.leave()
            return None
        if name == "jmp" and o[0][0] != "i":
            target = self.place(self.get(o[0]))
            if target.region != "image" or target.index is not None:
                raise NotProved("a jump to elsewhere")
            return target.offset
        taken = name == "jmp" or self.is_set(self.condition(name[1:]))
        return int(o[0][1]) if taken else after

    def leave(self) -> None:
        """Return."""
        if self.registers["rsp"] != Pointer("stack", self.stack):
            raise NotProved("a return to elsewhere")
        self.registers["rsp"] = Pointer("stack", self.stack + 8)

    def condition(self, name: str) -> Term:
        """The bit of a condition's name."""
        opposite = {"ne": "e", "ae": "b", "a": "be", "ge": "l", "g": "le", "ns": "s"}
        if name in opposite:
            return t.invert(self.condition(opposite[name]))
        if self.compared is not None:
            one, other = self.compared
            return t.const({"e": one == other, "b": one < other, "be": one <= other}[name], 1)
        if self.flags is None:
            raise NotProved("flags that are not modelled")
        kind, a, b, result = self.flags
        if kind == "bits":
            # Zero and carry by themselves.
            return a if name == "e" else b if name == "b" else t.or_(a, b)
        zero = t.eq(result, t.const(0, result.width))
        if name == "e":
            return zero if kind != "sub" else t.eq(a, b)
        if name == "s":
            return t.cut(result, result.width - 1, 1)
        if kind == "sub":
            less = t.lt if name in ("l", "le") else t.below
            return t.invert(less(b, a)) if name in ("be", "le") else less(a, b)
        if kind == "logic":
            if name in ("b", "be"):
                return t.FALSE if name == "b" else zero
            sign = t.cut(result, result.width - 1, 1)
            return sign if name == "l" else t.or_(sign, zero)
        if kind == "add" and name in ("b", "be"):
            wide = t.add(t.widened(a, a.width + 1), t.widened(b, a.width + 1))
            carry = t.cut(wide, a.width, 1)
            return carry if name == "b" else t.or_(carry, zero)
        raise NotProved("a flag that is not modelled")

    def set_flags(self, kind: str, a: Content, b: Content, result: Content) -> None:
        self.compared = self.flags = None
        if isinstance(a, Term) and isinstance(b, Term) and isinstance(result, Term):
            self.flags = (kind, a, b, result)
        elif isinstance(a, Pointer) and isinstance(b, Pointer) and kind == "sub":
            is_near = (a.region, a.index) == (b.region, b.index)
            self.compared = (a.offset, b.offset) if is_near else None

    def call(self, operand: Any) -> None:
        """memcpy and memset, the only functions that are called."""
        place = (
            Pointer("code", operand[1]) if operand[0] == "i" else self.place(self.address(operand))
        )
        name = self.callee(place)
        to, second = self.register("rdi"), self.register("rsi")
        if name not in ("memcpy", "memset"):
            raise NotProved(f"a call of {name}")
        count = self.number(self.register("rdx"))
        (self.copy if name == "memcpy" else self.fill)(to, second, count)
        self.vectors = {}
        self.compared = self.flags = None
        bottom = self.place(self.registers["rsp"]).offset
        self.memory["stack"] = {at: c for at, c in self.memory["stack"].items() if at >= bottom}
        kept = (*self.kept, "rsp")
        self.registers = {n: v for n, v in self.registers.items() if n in kept} | {"rax": to}

    def masks(self, name: str, o: tuple[Any, ...]) -> None:
        operation, bits = name[1:-1], _ELEMENT[name[-1]]
        if operation == "mov":
            source = self.mask(o[1][1]) if o[1][0] == "k" else self.word(self.get(o[1]))
            value = t.cut(source, 0, bits)
            if o[0][0] == "k":
                self.registers[f"k{o[0][1]}"] = t.widened(value, 64)
            else:
                self.put(o[0], t.widened(value, max(o[0][2], bits)))
        elif operation == "ortest":
            both = t.or_(*(t.cut(self.mask(operand[1]), 0, bits) for operand in o))
            self.set_bits(t.eq(both, t.const(0, bits)), t.eq(both, t.const(-1, bits)))
        elif operation == "or":
            both = t.or_(*(t.cut(self.mask(operand[1]), 0, bits) for operand in o[1:]))
            self.registers[f"k{o[0][1]}"] = t.widened(both, 64)
        else:
            raise NotProved("an instruction that is not modelled")

    def set_bits(self, zero: Term, carry: Term) -> None:
        self.compared, self.flags = None, ("bits", zero, carry, zero)

    def scalar(self, name: str, o: tuple[Any, ...]) -> None:
        bits = o[0][2] if o and o[0][0] == "r" else 8 * o[0][5] if o and o[0][0] == "m" else 64

        def words(*operands: Any) -> list[Term]:
            return [self.word(self.get(operand, bits)) for operand in operands]

        if name in ("mov", "movabs"):
            self.put(o[0], self.get(o[1], bits))
        elif name == "lea":
            at = self.address(o[1])
            self.put(o[0], at if bits == 64 else t.cut(self.word(at), 0, bits))
        elif name in ("movzx", "movsxd", "movsx"):
            source = self.word(self.get(o[1]))
            self.put(o[0], (t.widened if name == "movzx" else t.extend)(source, bits))
        elif name == "cdqe":
            self.put(("r", "rax", 64), t.extend(self.word(self.get(("r", "rax", 32))), 64))
        elif name == "push":
            content = self.get(o[0])
            self.registers["rsp"] = self.add(self.registers["rsp"], t.const(-8, 64))
            self.store(self.registers["rsp"], content, 8)
        elif name == "pop":
            content = self.load(self.registers["rsp"], 8)
            self.registers["rsp"] = self.add(self.registers["rsp"], t.const(8, 64))
            self.put(o[0], content)
        elif name in ("add", "sub", "cmp", "inc", "dec"):
            a = self.get(o[0])
            b = self.get(o[1], bits) if len(o) > 1 else t.const(1, bits)
            kind = "add" if name in ("add", "inc") else "sub"
            both = (a, b)
            if name == "cmp" and isinstance(a, Pointer) and isinstance(b, Pointer):
                result: Content = t.const(0, 64)
            else:
                result = (self.add if kind == "add" else self.subtract)(a, b)
            self.set_flags(kind, *both, result)
            if len(o) == 1:
                # The carry stays.
                self.set_flags("result", result, result, result)
            if name != "cmp":
                self.put(o[0], result)
        elif name in ("xor", "and", "or", "test") and o[0] == o[1] and o[0][0] == "r":
            if name == "xor":
                self.put(o[0], t.const(0, bits))
                self.set_flags("logic", t.const(0, bits), t.const(0, bits), t.const(0, bits))
            else:
                a = self.get(o[0])
                self.set_flags("logic", a, a, a)
        elif name == "and" and isinstance(self.get(o[0]), Pointer):
            self.align(o)
        elif name in ("xor", "and", "or", "test"):
            a, b = words(*o)
            value = {"xor": t.xor, "and": t.and_, "or": t.or_, "test": t.and_}[name](a, b)
            self.set_flags("logic", a, b, value)
            if name != "test":
                self.put(o[0], value)
        elif name == "andn":
            a, b = words(*o[1:])
            value = t.and_(t.invert(a), b)
            self.set_flags("logic", a, b, value)
            self.put(o[0], value)
        elif name == "not":
            self.put(o[0], t.invert(*words(o[0])))
        elif name == "neg":
            value = t.scaled(words(o[0])[0], -1)
            self.set_flags("result", value, value, value)
            self.put(o[0], value)
        elif name in ("shl", "shr", "sar", "rol", "ror", "rorx"):
            source, count = (
                (o[1], o[2]) if name == "rorx" else (o[0], o[1] if len(o) > 1 else ("i", 1))
            )
            by = self.number(self.get(count, 8)) & (63 if bits == 64 else 31)
            (a,) = words(source)
            value = {
                "shl": t.shifted_left, "shr": t.shifted_right, "sar": t.shifted_signed, "rol": t.rotated,
                "ror": lambda a, by: t.rotated(a, -by), "rorx": lambda a, by: t.rotated(a, -by),
            }[name](a, by)  # fmt: skip
            if name != "rorx" and by:
                self.compared = self.flags = None
                if name[0] == "s":
                    self.set_flags("result", value, value, value)
            self.put(o[0], value)
        elif name in ("shld", "shrd"):
            a, b = words(*o[:2])
            by = self.number(self.get(o[2], 8)) & (63 if bits == 64 else 31)
            if name == "shld":
                value = t.join([t.cut(b, bits - by, by), t.cut(a, 0, bits - by)])
            else:
                value = t.join([t.cut(a, by, bits - by), t.cut(b, 0, by)])
            self.set_flags("result", value, value, value)
            self.put(o[0], value)
        elif name == "imul" and len(o) > 1:
            a, b = words(*o[-2:])
            self.compared = self.flags = None
            self.put(o[0], t.mul(a, b))
        elif name in ("mul", "mulx") and o[-1][-1] in (64, 8):
            source = self.word(self.register("rax" if name == "mul" else "rdx"))
            a, b = (t.widened(word, 128) for word in (source, *words(o[-1])))
            low, high = t.lanes(t.mul(a, b), 64)
            if name == "mul":
                self.compared = self.flags = None
                self.registers |= {"rax": low, "rdx": high}
            else:
                self.put(o[1], low)
                self.put(o[0], high)
        elif name.startswith("set"):
            self.put(o[0], t.widened(self.condition(name[3:]), bits))
        elif name.startswith("cmov"):
            bit = self.condition(name[4:])
            a, b = self.get(o[1]), self.get(o[0])
            if bit.is_const:
                self.put(o[0], a if bit.args[0] else b)
            else:
                self.put(o[0], t.mux(bit, self.word(a), self.word(b)))
        else:
            raise NotProved("an instruction that is not modelled")

    def align(self, o: tuple[Any, ...]) -> None:
        """The stack pointer, rounded down."""
        pointer = self.place(self.get(o[0]))
        low = ~self.number(self.get(o[1])) & ((1 << 64) - 1)
        if pointer.region != "stack" or low & (low + 1) or low >= 4096:
            raise NotProved("an address is masked")
        self.put(o[0], Pointer(pointer.region, pointer.offset & ~low))

    def vectors_step(self, name: str, o: tuple[Any, ...], masked: Any) -> None:
        is_legacy = name[0] != "v"
        if is_legacy and o[0][0] == "v" and not name.startswith("mov") and name != "pshufd":
            o = (o[0], *o)
        name = _WHOLE.get(name, _WHOLE.get(name.removeprefix("v"), name))
        plain = name.removeprefix("v")
        bits = next(operand[2] for operand in o if operand[0] == "v")
        if o[0][0] == "v":
            bits = o[0][2]
        element = _ELEMENT.get(plain[-1], 32)
        mask = None if masked is None else self.mask(masked[0])

        def source(index: int, count: int = bits) -> Term:
            is_zeroed = masked is not None and o[index][0] == "m"
            return self.vector(o[index], count, element, mask if is_zeroed else None)

        def parts(index: int, width: int, count: int = bits) -> list[Term]:
            return t.lanes(source(index, count), width)

        def put(words: list[Term] | Term, width: int = element) -> None:
            value = words if isinstance(words, Term) else t.join(words)
            self.write(o[0], value, is_legacy, width, masked)

        def immediate() -> int:
            if o[-1][0] != "i":
                raise NotProved("a count in a register")
            return int(o[-1][1]) & 255

        if (move := _MOVES.match(name)) is not None:
            element = int(move[2] or 32)
            if "dqa" in name or "vaps" in name or "movap" in name:
                for operand in o:
                    if operand[0] == "m":
                        self.check_alignment(self.address(operand), bits // 8)
            put(source(1), element)
        elif (compare := _COMPARED.match(name)) is not None and o[0][0] == "k":
            width = {"ud": 32, "d": 32, "q": 64, "b": 8}[compare[2]]
            bits = next(operand[2] for operand in o if operand[0] == "v")
            kind = compare[1] + ("u" if compare[2] == "ud" else "")
            element = width
            pairs = zip(parts(1, width, bits), parts(2, width, bits), strict=True)
            results = [
                {
                    "gt": lambda a, b: t.lt(b, a), "lt": t.lt, "ltu": t.below,
                    "le": lambda a, b: t.invert(t.lt(b, a)), "nle": lambda a, b: t.lt(b, a),
                    "nlt": lambda a, b: t.invert(t.lt(a, b)), "eq": t.eq,
                    "neq": lambda a, b: t.invert(t.eq(a, b)),
                }[kind](a, b)
                for a, b in pairs
            ]  # fmt: skip
            value = t.join(results)
            if mask is not None:
                value = t.and_(value, t.cut(mask, 0, value.width))
            self.registers[f"k{o[0][1]}"] = t.widened(value, 64)
        elif plain[:-1] in _SHIFTS or plain[:-2] in _SHIFTS:
            kind, variable = (plain[:-1], False) if plain[:-1] in _SHIFTS else (plain[:-2], True)
            if variable:
                pairs = zip(parts(1, element), parts(2, element), strict=True)
                put([LANEWISE[kind](a, self.number(by)) for a, by in pairs])
            else:
                if o[-1][0] == "i":
                    by = immediate()
                else:
                    by = self.number(t.cut(self.vector(o[-1], 128), 0, 64))
                put([LANEWISE[kind](a, min(by, element)) for a in parts(1, element)])
        elif plain[:-1] in LANEWISE and plain[-1] in _ELEMENT:
            if plain[:-1] == "pmulud" or plain == "pmuldq":
                element = 64
            if (
                plain[:-1] in ("pand", "pandn", "por", "pxor")
                and len({o[1], o[2]}) == 1
                and mask is None
            ):
                put(t.const(0, bits) if plain[1] == "x" else source(1))
                return
            if plain[:-1] in ("pand", "pandn", "por", "pxor"):
                # Word by word: a word that moves as one stays one.
                pairs = zip(parts(1, 64), parts(2, 64), strict=True)
                put([LANEWISE[plain[:-1]](a, b) for a, b in pairs])
                return
            operands = (parts(i, element) for i in range(1, len(o)))
            put([LANEWISE[plain[:-1]](*words) for words in zip(*operands, strict=True)])
        elif plain[:-1] == "pternlog":
            operands = (parts(i, 64) for i in range(3))
            put([_chosen(immediate(), *words) for words in zip(*operands, strict=True)])
        else:
            self.moved(plain, o, bits, element, masked, is_legacy)

    def moved(
        self, name: str, o: tuple[Any, ...], bits: int, element: int, masked: Any, is_legacy: bool
    ) -> None:
        """Instructions that move lanes, or are alone in their kind."""
        mask = None if masked is None else self.mask(masked[0])

        def source(index: int, count: int = bits) -> Term:
            return self.vector(o[index], count)

        def parts(index: int, width: int, count: int = bits) -> list[Term]:
            return t.lanes(source(index, count), width)

        def put(words: list[Term] | Term, width: int = element) -> None:
            value = words if isinstance(words, Term) else t.join(words)
            self.write(o[0], value, is_legacy, width, masked)

        def immediate() -> int:
            if o[-1][0] != "i":
                raise NotProved("a count in a register")
            return int(o[-1][1]) & 255

        each128 = range(0, bits, 128)
        if name == "pshufd":
            order = immediate()
            words = parts(1, 32)
            put([words[i // 4 * 4 + (order >> 2 * (i % 4) & 3)] for i in range(len(words))], 32)
        elif name == "shufps":
            order = immediate()
            a, b = parts(1, 32), parts(2, 32)
            put(
                [
                    (a, a, b, b)[i % 4][i // 4 * 4 + (order >> 2 * (i % 4) & 3)]
                    for i in range(len(a))
                ],
                32,
            )
        elif name == "pshufb":
            held, by = parts(1, 8), parts(2, 8)
            result = []
            for i, at in enumerate(by):
                number = self.number(at)
                result.append(t.const(0, 8) if number & 128 else held[i // 16 * 16 + (number & 15)])
            put(result, 8)
        elif name.startswith(("punpckl", "punpckh", "unpckl", "unpckh")):
            width = {"bw": 8, "wd": 16, "dq": 32, "qdq": 64, "pd": 64, "ps": 32}[
                name.split("pck")[1][1:]
            ]
            is_high = name.split("pck")[1][0] == "h"
            a, b = parts(1, width), parts(2, width)
            count = 128 // width
            result = []
            for base in range(0, len(a), count):
                for i in range(count // 2):
                    at = base + i + (count // 2 if is_high else 0)
                    result += [a[at], b[at]]
            put(result)
        elif name in ("permd", "permw") or (name == "permq" and o[2][0] != "i"):
            words = parts(2, element)
            put([words[self.number(i) % len(words)] for i in parts(1, element)])
        elif name == "permq":
            order = immediate()
            words = parts(1, 64)
            put([words[i // 4 * 4 + (order >> 2 * (i % 4) & 3)] for i in range(len(words))], 64)
        elif name[:-1] in ("permi2", "permt2"):
            table, index = (1, 0) if name.startswith("permi2") else (0, 1)
            both = parts(table, element) + parts(2, element)
            put([both[self.number(i) % len(both)] for i in parts(index, element)])
        elif name == "perm2i128":
            halves = parts(1, 128) + parts(2, 128)
            order = immediate()
            zero = t.const(0, 128)
            put([zero if order >> s & 8 else halves[order >> s & 3] for s in (0, 4)])
        elif name in ("shufi64x2", "shufi32x4", "shuff64x2"):
            order, a, b = immediate(), parts(1, 128), parts(2, 128)
            step = 2 if len(a) == 4 else 1
            picked = [
                (a if i < len(a) // 2 else b)[order >> step * i & (len(a) - 1)]
                for i in range(len(a))
            ]
            put(picked, 64 if "64" in name else 32)
        elif name in ("pblendd", "blendps"):
            a, b = parts(1, 32), parts(2, 32)
            put(
                [
                    y if immediate() >> i & 1 else z
                    for i, (z, y) in enumerate(zip(a, b, strict=True))
                ]
            )
        elif name in ("pblendmd", "pblendmq"):
            assert mask is not None
            pairs = zip(parts(1, element), parts(2, element), strict=True)
            blended = [
                t.mux(t.cut(mask, i, 1), b, t.const(0, element) if masked[1] else a)
                for i, (a, b) in enumerate(pairs)
            ]
            self.write(o[0], t.join(blended), is_legacy, element, None)
        elif name.startswith(("pbroadcast", "broadcasts")) and "i128" not in name:
            width = {"ss": 32, "sd": 64}.get(name[-2:], element)
            if o[1][0] == "r":
                word = t.cut(self.word(self.register(o[1][1])), 0, width)
            elif o[1][0] == "m":
                word = self.word(self.load(self.address(o[1]), width // 8))
            else:
                word = t.cut(source(1, 128), 0, width)
            put([word] * (bits // width), width)
        elif name in ("broadcasti128", "broadcastf128", "broadcasti32x4", "broadcasti64x2"):
            put([source(1, 128)] * (bits // 128))
        elif name.startswith(("extract", "insert")):
            piece = 128 if name.endswith(("128", "x2", "32x4")) else 256
            if name[0] == "e":
                held = self.vector(o[1], o[1][2])
                self.write(
                    o[0],
                    t.lanes(held, piece)[immediate() % (held.width // piece)],
                    False,
                    64,
                    masked,
                )
            else:
                pieces = parts(1, piece)
                pieces[immediate() % len(pieces)] = source(2, piece)
                put(pieces)
        elif name in ("movd", "movq", "movss", "movsd") and len(o) == 2:
            width = 64 if name in ("movq", "movsd") else 32
            if o[0][0] == "v":
                if o[1][0] == "v":
                    word = t.cut(source(1, 128), 0, width)
                    if name[3] == "s":
                        # Between registers, the rest stays.
                        put(t.join([word, t.cut(source(0, 128), width, 128 - width)]))
                        return
                elif o[1][0] == "r":
                    word = t.cut(self.word(self.register(o[1][1])), 0, width)
                else:
                    word = self.word(self.load(self.address(o[1]), width // 8))
                put(t.widened(word, 128))
            else:
                word = t.cut(self.vector(o[1], 128), 0, width)
                if o[0][0] == "r":
                    word = t.widened(word, max(o[0][2], width))
                self.put(o[0], word)
        elif name == "movlhps":
            put([parts(-2, 64, 128)[0], parts(-1, 64, 128)[0]])
        elif name in ("pinsrq", "pinsrd"):
            words = parts(1, element, 128)
            words[immediate() % len(words)] = t.cut(self.word(self.get(o[2])), 0, element)
            put(words)
        elif name in ("pextrq", "pextrd"):
            words = t.lanes(self.vector(o[1], 128), element)
            self.put(o[0], words[immediate() % len(words)])
        elif name in ("pexpandq", "pexpandd"):
            assert mask is not None
            chosen = [self.number(t.cut(mask, i, 1)) for i in range(bits // element)]
            count = sum(chosen)
            if o[1][0] == "m":
                at = self.address(o[1])
                places = (self.add(at, t.const(i * element // 8, 64)) for i in range(count))
                taken = iter([self.word(self.load(place, element // 8)) for place in places])
            else:
                taken = iter(parts(1, element)[:count])
            old = [t.const(0, element)] * len(chosen) if masked[1] else parts(0, element)
            put([next(taken) if bit else old[i] for i, bit in enumerate(chosen)])
        elif name.startswith("pmovzx"):
            small, large = (_ELEMENT[letter] for letter in name[6:8])
            count = bits // large
            held = t.cut(source(1, max(128, count * small)) if o[1][0] == "v" else self.word(
                self.load(self.address(o[1]), count * small // 8)), 0, count * small)  # fmt: skip
            put([t.widened(part, large) for part in t.lanes(held, small)], large)
        elif name == "pmovdb":
            narrow = t.join(t.cut(part, 0, 8) for part in t.lanes(self.vector(o[1], o[1][2]), 32))
            if o[0][0] == "v":
                self.write(o[0], t.widened(narrow, max(128, narrow.width)), False, 8, masked)
            else:
                self.write(o[0], narrow, False, 8, masked)
        elif name in ("packusdw", "packuswb", "packssdw", "packsswb"):
            wide = 32 if name.endswith("dw") else 16
            half = wide // 2
            low, high = (
                (0, (1 << half) - 1)
                if name[4] == "u"
                else (-(1 << (half - 1)), (1 << (half - 1)) - 1)
            )
            a, b = source(1), source(2)
            result = []
            for base in each128:
                for word in (a, b):
                    result += [
                        _saturated(part, half, low, high)
                        for part in t.lanes(t.cut(word, base, 128), wide)
                    ]
            put(result)
        elif name in ("pmaddubsw", "pmaddwd"):
            width = 8 if name == "pmaddubsw" else 16
            widen = t.widened if width == 8 else t.extend
            products = [
                t.mul(widen(a, 32), t.extend(b, 32))
                for a, b in zip(parts(1, width), parts(2, width), strict=True)
            ]
            sums = [t.add(products[i], products[i + 1]) for i in range(0, len(products), 2)]
            if width == 8:
                sums = [_saturated(s, 16, -(1 << 15), (1 << 15) - 1) for s in sums]
            put(sums)
        elif name in ("ptest", "testps"):
            a, b = self.vector(o[0], bits), source(1)
            both, rest = t.and_(a, b), t.and_(t.invert(a), b)
            if name == "testps":
                both, rest = (t.join(t.cut(p, 31, 1) for p in t.lanes(v, 32)) for v in (both, rest))
            self.set_bits(t.eq(both, t.const(0, both.width)), t.eq(rest, t.const(0, rest.width)))
        elif name in ("movmskps", "movmskpd", "pmovmskb"):
            width = {"s": 32, "d": 64, "b": 8}[name[-1]]
            held = self.vector(o[1], o[1][2])
            signs = t.join(t.cut(part, width - 1, 1) for part in t.lanes(held, width))
            self.put(o[0], t.widened(signs, o[0][2]))
        else:
            raise NotProved("an instruction that is not modelled")
