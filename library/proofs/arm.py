"""The instructions of AArch64 that the proved functions use. Names and meaning are those of Arm's manual (DDI 0487)."""

from __future__ import annotations

import re
from typing import Any

import capstone as cs
from capstone import arm64_const as a
from machine import Content, Instruction, Machine, Opaque, Pointer
from words import ONES, Form, NotProved, Shifted, Word

KEPT = tuple(f"x{n}" for n in range(19, 31))
_VECTORS = tuple(range(8, 16))
"""Vector registers whose low words belong to the caller."""


_ARRANGED = dict.fromkeys(("add", "shl", "sri", "ld1r", "xar", "rax1"), a.ARM64_VAS_2D)
"""The arrangement of vector instructions that work on words; others work on bits."""


def decoded(address: int, code: bytes) -> list[Instruction]:
    """The instructions of a function. Operands: ("r", name, right rotation), ("v", number), ("q", number),
    ("d", number), ("i", number), ("m", base, displacement, when the base is updated: "", "before" or "after")."""
    reader = cs.Cs(cs.CS_ARCH_ARM64, cs.CS_MODE_ARM)
    reader.detail = True
    result = []
    for i in reader.disasm(code, address):
        operands: list[Any] = []
        for op in i.operands:
            if op.type == a.ARM64_OP_IMM:
                operands.append(("i", op.imm))
            elif op.type == a.ARM64_OP_MEM:
                if op.mem.index:
                    raise NotProved(f"{i.mnemonic} {i.op_str}: an index")
                update = "before" if i.op_str.endswith("!") else ""
                operands.append(("m", i.reg_name(op.mem.base), op.mem.disp, update))
            else:
                name = i.reg_name(op.reg)
                text = f"{i.mnemonic} {i.op_str}"
                if op.shift.type not in (0, a.ARM64_SFT_ROR) or op.ext:
                    raise NotProved(f"{i.mnemonic} {i.op_str}: a shift")
                rotation = op.shift.value if op.shift.type else 0
                if name[0] == "v" and op.vas != _ARRANGED.get(i.mnemonic, a.ARM64_VAS_16B):
                    raise NotProved(f"{text}: parts of words")
                if name[0] in "vq" or (name[0] == "d" and i.mnemonic in ("ldp", "stp")):
                    operands.append((name[0], int(name[1:])))
                elif name[0] == "w":
                    # The other half becomes zero, or has none of the bits that are tested.
                    is_number = i.mnemonic == "mov" and i.operands[1].type == a.ARM64_OP_IMM
                    if not is_number and i.mnemonic not in ("tbnz", "tbz"):
                        raise NotProved(f"{i.mnemonic} {i.op_str}: half of a register")
                    operands.append(("r", f"x{name[1:]}", 0))
                else:
                    name = {"fp": "x29", "lr": "x30"}.get(name, name)
                    if name[0] != "x" and name != "sp":
                        raise NotProved(f"{text}: a part of a register")
                    operands.append(("r", name, rotation))
        if (step := re.search(r"\], #(-?\w+)$", i.op_str)) is not None:
            # The address is updated afterwards; capstone lists the step or not.
            operands = [o for o in operands if o[0] != "i"]
            operands[-1] = ("m", operands[-1][1], int(step[1], 0), "after")
        result.append(Instruction(i.address, i.size, i.mnemonic, tuple(operands)))
    return result


class Arm(Machine):
    """The state of the processor."""

    def start(self, stack: int) -> None:
        self.stack = stack
        self.memory["stack"] = {}
        self.registers = {name: Opaque(name) for name in self.kept}
        self.registers |= {"sp": Pointer("stack", stack), "xzr": 0}
        self.halves: dict[int, Content] = {n: Opaque(f"d{n}") for n in _VECTORS}

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
        if not isinstance(top, Pointer) or top.region != "stack":
            raise NotProved("the stack pointer is lost")
        return top.offset

    def place(self, operand: Any) -> Content:
        """Return the address of a memory operand, and update its base: afterwards only when the access is done."""
        _, base, displacement, update = operand
        at = self.registers[base]
        moved = self.add(at, displacement & ONES)
        if update == "before":
            self.registers[base] = moved
        elif update:
            self.pending[base] = moved
        return at if update == "after" else moved

    def get(self, operand: Any) -> Content:
        if operand[0] == "i":
            return int(operand[1]) & ONES
        content = self.registers[operand[1]]
        return self.space.rotate(self.word(content), -operand[2]) if operand[2] else content

    def put(self, operand: Any, content: Content) -> None:
        if operand[1] != "xzr":
            self.registers[operand[1]] = content

    def vector(self, operand: Any) -> list[Word]:
        words = self.vectors.get(operand[1])
        if words is None:
            raise NotProved("a vector register that was not written")
        return words

    def write(self, operand: Any, words: list[Word]) -> None:
        self.vectors[operand[1]] = words
        self.halves.pop(operand[1], None)

    def step(self, instruction: Instruction) -> int | None:
        name, o = instruction.name, instruction.operands
        after = instruction.address + instruction.size
        if name == "ret" and not o:
            if self.registers["x30"] != Opaque("x30"):
                raise NotProved("a return to elsewhere")
            return None
        if name == "b.ne":
            if self.compared is None:
                raise NotProved("flags of the caller")
            return int(o[0][1]) if self.compared[0] != self.compared[1] else after
        if name in ("tbnz", "tbz"):
            at = self.get(o[0])
            value = at.offset if isinstance(at, Pointer) else self.number(at)
            if isinstance(at, Pointer) and self.alignments[at.region] <= 1 << o[1][1]:
                raise NotProved("a bit of an address that is not known")
            return int(o[2][1]) if (value >> o[1][1] & 1) == (name == "tbnz") else after
        self.pending: dict[str, Content] = {}
        if o and o[0][0] in "vq":
            self.vectors_step(name, o)
        elif o and o[0][0] == "d":
            self.saved(name, o)
        else:
            self.scalar(name, o)
        self.registers |= self.pending
        return after

    def saved(self, name: str, o: tuple[Any, ...]) -> None:
        """Low words of vector registers, which are the caller's: only kept and brought back."""
        at = self.place(o[-1])
        for i, operand in enumerate(o[:-1]):
            if name == "stp":
                self.store(self.add(at, 8 * i), self.halves[operand[1]])
            else:
                self.halves[operand[1]] = self.load(self.add(at, 8 * i))
                self.vectors.pop(operand[1], None)

    def scalar(self, name: str, o: tuple[Any, ...]) -> None:
        space = self.space
        if name in ("ldr", "ldp"):
            at = self.place(o[-1])
            for i, operand in enumerate(o[:-1]):
                self.put(operand, self.load(self.add(at, 8 * i)))
        elif name in ("str", "stp"):
            at = self.place(o[-1])
            for i, operand in enumerate(o[:-1]):
                self.store(self.add(at, 8 * i), self.get(operand))
        elif name == "mov":
            self.put(o[0], self.get(o[1]))
        elif name == "adrp":
            self.put(o[0], Pointer("image", o[1][1]))
        elif name == "add":
            self.put(o[0], self.add(self.get(o[1]), self.get(o[2])))
        elif name in ("sub", "subs"):
            a, b = self.get(o[1]), self.get(o[2])
            self.put(o[0], self.subtract(a, b))
            if name == "subs":
                self.compared = (self.number(a), self.number(b))
        elif name == "cmp":
            a, b = self.get(o[0]), self.get(o[1])
            if isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region:
                self.compared = (a.offset, b.offset)
            else:
                self.compared = (self.number(a), self.number(b))
        elif name == "eor":
            self.put(o[0], space.xor(self.word(self.get(o[1])), self.word(self.get(o[2]))))
        elif name == "bic":
            inverse = space.invert(self.word(self.get(o[2])))
            self.put(o[0], space.and_(self.word(self.get(o[1])), inverse))
        elif name == "ror":
            self.put(o[0], space.rotate(self.word(self.get(o[1])), -self.number(self.get(o[2]))))
        elif name != "nop":
            raise NotProved("an instruction that is not modelled")

    def vectors_step(self, name: str, o: tuple[Any, ...]) -> None:
        space = self.space

        def each(function: Any, *operands: Any) -> list[Word]:
            return [function(*words) for words in zip(*map(self.vector, operands), strict=True)]

        if name == "ldr":
            at = self.place(o[1])
            self.write(o[0], [self.word(self.load(self.add(at, 8 * i))) for i in range(2)])
        elif name == "str":
            at = self.place(o[1])
            for i, word in enumerate(self.vector(o[0])):
                self.store(self.add(at, 8 * i), word)
        elif name in ("ldp", "stp"):
            at = self.place(o[2])
            for n, operand in enumerate(o[:2]):
                places = [self.add(at, 16 * n + 8 * i) for i in range(2)]
                if name == "ldp":
                    self.write(operand, [self.word(self.load(place)) for place in places])
                else:
                    for place, word in zip(places, self.vector(operand), strict=True):
                        self.store(place, word)
        elif name == "ld1r":
            self.write(o[0], [self.word(self.load(self.place(o[1])))] * 2)
        elif name == "eor":
            self.write(o[0], each(space.xor, o[1], o[2]))
        elif name == "bic":
            self.write(o[0], each(lambda a, b: space.and_(a, space.invert(b)), o[1], o[2]))
        elif name == "eor3":
            self.write(o[0], each(lambda a, b, c: space.xor(space.xor(a, b), c), *o[1:]))
        elif name == "rax1":
            self.write(o[0], each(lambda a, b: space.xor(a, space.rotate(b, 1)), *o[1:]))
        elif name == "xar":
            by = -self.number(self.get(o[3]))
            self.write(o[0], each(lambda a, b: space.rotate(space.xor(a, b), by), o[1], o[2]))
        elif name == "add" and o[1] == o[2]:
            self.write(o[0], each(lambda a: space.shift(a, 1, True), o[1]))
        elif name == "shl":
            by = self.number(self.get(o[2]))
            self.write(o[0], each(lambda a: space.shift(a, by, True), o[1]))
        elif name == "sri":
            by = self.number(self.get(o[2]))
            self.write(o[0], each(lambda a, b: self.inserted(a, b, by), o[0], o[1]))
        else:
            raise NotProved("an instruction that is not modelled")

    def inserted(self, old: Word, new: Word, by: int) -> Word:
        """`new` shifted right by `by`, below the `by` highest bits of `old`."""
        if isinstance(old, int) and isinstance(new, int):
            return (old & (ONES ^ (ONES >> by))) | new >> by
        if not isinstance(old, Shifted) or not isinstance(new, Form):
            raise NotProved("an insertion that is no rotation")
        return self.space.or_(old, self.space.shift(new, by, False))
