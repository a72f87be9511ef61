"""The instructions of x86-64 that the proved functions use. Names and meaning are those of Intel's manual, volume 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import capstone as cs
import terms as t
import x86_vectors
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


_SHIFTED: dict[str, Callable[[Term, int], Term]] = {
    "shl": t.shifted_left,
    "shr": t.shifted_right,
    "sar": t.shifted_signed,
    "rol": t.rotated,
    "ror": lambda a, by: t.rotated(a, -by),
    "shlx": t.shifted_left,
    "rorx": lambda a, by: t.rotated(a, -by),
}


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
            x86_vectors.execute(self, name, o, masked)
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
            if name not in ("e", "b", "be"):
                raise NotProved("a flag that is not modelled")
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
        operation, bits = name[1:-1], x86_vectors.SIZES[name[-1]]
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
        elif name == "adc":
            a, b = words(*o)
            value = t.add(t.add(a, b), t.widened(self.condition("b"), bits))
            self.set_flags("result", value, value, value)
            self.put(o[0], value)
        elif name == "popcnt":
            value = t.const(0, bits)
            for bit in t.lanes(words(o[1])[0], 1):
                value = t.add(value, t.widened(bit, bits))
            self.set_flags("logic", value, value, value)
            self.put(o[0], value)
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
        elif name in ("shl", "shr", "sar", "rol", "ror", "rorx", "shlx"):
            keeps_flags = name[-1] == "x"
            source, count = (
                (o[1], o[2]) if keeps_flags else (o[0], o[1] if len(o) > 1 else ("i", 1))
            )
            by = self.number(t.cut(self.word(self.get(count, 8)), 0, 8)) & (
                63 if bits == 64 else 31
            )
            (a,) = words(source)
            value = _SHIFTED[name](a, by)
            if not keeps_flags and by:
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
