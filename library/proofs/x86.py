"""The instructions of x86-64 that the proved functions use. Names and meaning are those of Intel's manual, volume 2."""

from __future__ import annotations

from typing import Any

import capstone as cs
from capstone import x86_const as x
from machine import Content, Instruction, LowByte, Machine, Opaque, Pointer
from words import ONES, NotProved, Word

KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
_WIDE = {
    **{f"e{n}": f"r{n}" for n in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")},
    **{f"r{n}d": f"r{n}" for n in range(8, 16)},
}
_LOW = {
    **{f"r{n}b": f"r{n}" for n in range(8, 16)},
    "al": "rax",
    "bl": "rbx",
    "cl": "rcx",
    "dl": "rdx",
    "sil": "rsi",
    "dil": "rdi",
}
_LANES = {"xmm": 2, "ymm": 4, "zmm": 8}
MASKED = "masked"
_BY_WORD = ("vmovdqu64", "vmovdqa64", "vpxorq", "vpternlogq", "vprolq", "vpbroadcastq", "vpexpandq")
"""Instructions whose masks have a bit for each word, and that leave words in their places but for the last two."""


def decoded(address: int, code: bytes) -> list[Instruction]:
    """Return the instructions of a function. NotProved for parts of registers and segments.

    Operands: ("r", name, bits), ("v", number, lanes), ("k", number), ("i", number).
    Memory: ("m", base, index, scale, displacement, bytes), with "b" in place of "m" if it is read for all lanes.
    Last, if masked: (MASKED, register, zeroes).
    """
    reader = cs.Cs(cs.CS_ARCH_X86, cs.CS_MODE_64)
    reader.detail = True
    result = []
    for i in reader.disasm(code, address):
        operands: list[Any] = []
        masks: list[int] = []
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
            elif name[:3] in _LANES:
                operands.append(("v", int(name[3:]), _LANES[name[:3]]))
            elif name[0] == "k":
                (masks if masks or (operands and i.mnemonic[0] == "v") else operands).append(
                    int(name[1:])
                )
                if not masks:
                    operands[-1] = ("k", operands[-1])
            else:
                bits = 32 if name in _WIDE else 8 if name in _LOW else 64
                if op.size * 8 != bits:
                    raise NotProved(f"{text}: a part of a register")
                operands.append(("r", {**_WIDE, **_LOW}.get(name, name), bits))
        for number in masks:
            operands.append((MASKED, number, "{z}" in i.op_str))
        result.append(Instruction(i.address, i.size, i.mnemonic, tuple(operands)))
    return result


class X86(Machine):
    """The state of the processor."""

    is_ordered = False
    """Whether the comparison tells more than whether both are equal."""

    def start(self, stack: int) -> None:
        self.stack = stack
        self.memory["stack"] = {stack: Opaque("return")}
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

    # --- operands

    def place(self, operand: Any) -> Content:
        _, base, index, scale, displacement, _ = operand
        if base == "rip":
            return Pointer("image", displacement)
        at: Content = self.registers[base] if base else 0
        if index and scale == 1:
            at = self.add(at, self.registers[index])
        elif index:
            at = self.add(at, self.number(self.registers[index]) * scale & ONES)
        return self.add(at, displacement & ONES)

    def get(self, operand: Any) -> Content:
        kind: str = operand[0]
        rest: Any = operand[1:]
        if kind == "r":
            content = self.registers[rest[0]]
            return self.number(content) & 0xFFFFFFFF if rest[1] == 32 else content
        if kind == "i":
            return int(rest[0]) & ONES
        if kind == "m" and operand[5] == 8:
            return self.load(self.place(operand))
        raise NotProved(f"operand {operand}")

    def put(self, operand: Any, content: Any) -> None:
        if operand[0] == "r" and operand[2] == 8:
            self.registers[operand[1]] = LowByte(self.number(content) & 0xFF)
        elif operand[0] == "m":
            if operand[5] != 8:
                raise NotProved("a store of a part of a word")
            self.store(self.place(operand), content)
        elif operand[2] == 32:
            self.registers[operand[1]] = self.number(content) & 0xFFFFFFFF
        else:
            self.registers[operand[1]] = content

    def lanes(self, operand: Any, count: int, mask: int = 255) -> list[Word]:
        """Return `count` words of a vector register or of memory, of which only those in `mask` are read."""
        if operand[0] == "v":
            held = self.vectors.get(operand[1], [])
            if len(held) < count:
                raise NotProved("a vector register that was not written")
            return held[:count]
        place = self.place(operand)
        if operand[0] == "b":
            return [self.word(self.load(place))] * count
        places = [self.add(place, 8 * i) if mask >> i & 1 else None for i in range(count)]
        return [self.word(self.load(at)) if at else 0 for at in places]

    def write(self, operand: Any, words: list[Word], mask: tuple[int, bool] | None = None) -> None:
        """Write lanes: the register's others become zero, or memory."""
        bits = 255 if mask is None else self.number(self.registers[f"k{mask[0]}"])
        if operand[0] == "v":
            if mask is not None:
                old = [0] * len(words) if mask[1] else self.lanes(operand, len(words))
                words = [
                    w if bits >> i & 1 else o
                    for i, (w, o) in enumerate(zip(words, old, strict=True))
                ]
            self.vectors[operand[1]] = words + [0] * (8 - len(words))
        else:
            place = self.place(operand)
            for i, word in enumerate(words):
                if bits >> i & 1:
                    self.store(self.add(place, 8 * i), word)

    # --- execution

    def step(self, instruction: Instruction) -> int | None:
        name, operands = instruction.name, instruction.operands
        after = instruction.address + instruction.size
        mask = None
        if operands and operands[-1][0] == MASKED:
            mask, operands = operands[-1][1:], operands[:-1]
        if name[0] == "v" and name != "vzeroupper":
            self.vector(name, operands, mask)
            return after
        if name in ("jne", "jb", "je", "jae"):
            if self.compared is None:
                raise NotProved(
                    "the function's course depends on its operands, or on flags that are not modelled"
                )
            a, b = self.compared
            if name in ("jb", "jae") and not self.is_ordered:
                raise NotProved("the carry of a sum")
            taken = {"jne": a != b, "je": a == b, "jb": a < b, "jae": a >= b}[name]
            return int(operands[0][1]) if taken else after
        if name == "call":
            self.call(operands[0])
            return after
        if name == "ret" and not operands:
            top = self.registers["rsp"]
            if top != Pointer("stack", self.stack):
                raise NotProved("a return to elsewhere")
            self.registers["rsp"] = self.add(top, 8)
            return None
        self.scalar(name, operands)
        return after

    def call(self, target: Any) -> None:
        """`memcpy`, the one function that is called: it copies, and leaves the caller's registers alone."""
        if self.callee(self.place(target)) != "memcpy":
            raise NotProved("a call")
        to, source = self.registers["rdi"], self.registers["rsi"]
        words = [
            self.load(self.add(source, at))
            for at in range(0, self.number(self.registers["rdx"]), 8)
        ]
        for i, word in enumerate(words):
            self.store(self.add(to, 8 * i), word)
        self.vectors = {}
        self.compared = None
        bottom = self.registers["rsp"]
        assert isinstance(bottom, Pointer)
        self.memory["stack"] = {
            at: w for at, w in self.memory["stack"].items() if at >= bottom.offset
        }
        kept = (*self.kept, "rsp")
        self.registers = {n: v for n, v in self.registers.items() if n in kept} | {"rax": to}

    def scalar(self, name: str, o: tuple[Any, ...]) -> None:
        space = self.space
        width = o[0][2] if o and o[0][0] == "r" else 64
        if width == 32 and not (name == "xor" and o[0] == o[1]) and name != "mov":
            raise NotProved("half of a register")
        if width == 8 and not (name == "mov" and o[1][0] == "i"):
            raise NotProved("a byte of a register")
        if name in ("xor", "and", "andn", "rol", "ror"):
            self.compared = None
        if name in ("nop", "vzeroupper", "endbr64"):
            if name == "vzeroupper":
                self.vectors = {
                    n: [*w[:2], *[0] * 6] if n < 16 else w for n, w in self.vectors.items()
                }
        elif name in ("mov", "movabs"):
            self.put(o[0], self.get(o[1]))
        elif name == "lea":
            self.put(o[0], self.place(o[1]))
        elif name == "push" and "rsp" not in o[0]:
            self.registers["rsp"] = self.add(self.registers["rsp"], -8 & ONES)
            self.store(self.registers["rsp"], self.get(o[0]))
        elif name == "pop":
            self.put(o[0], self.load(self.registers["rsp"]))
            self.registers["rsp"] = self.add(self.registers["rsp"], 8)
        elif name == "xor" and o[0] == o[1]:
            self.put(o[0], 0)
        elif name == "xor":
            self.put(o[0], space.xor(self.word(self.get(o[0])), self.word(self.get(o[1]))))
        elif name == "and" and isinstance(self.get(o[0]), Pointer):
            pointer, bits = self.get(o[0]), self.number(self.get(o[1]))
            assert isinstance(pointer, Pointer)
            if pointer.region != "stack":
                raise NotProved("an operand's address is masked")
            low = ONES ^ bits
            if low & (low + 1) or low >= 4096:
                raise NotProved("an address is masked")
            self.put(o[0], Pointer(pointer.region, pointer.offset & ~low))
        elif name == "and":
            self.put(o[0], space.and_(self.word(self.get(o[0])), self.word(self.get(o[1]))))
        elif name == "andn":
            a, b = self.word(self.get(o[1])), self.word(self.get(o[2]))
            self.put(o[0], space.and_(space.invert(a), b))
        elif name == "not":
            self.put(o[0], space.invert(self.word(self.get(o[0]))))
        elif name in ("rol", "ror"):
            by = self.number(self.get(o[1])) if len(o) > 1 else 1
            self.put(o[0], space.rotate(self.word(self.get(o[0])), by if name == "rol" else -by))
        elif name == "rorx":
            self.put(o[0], space.rotate(self.word(self.get(o[1])), -self.number(self.get(o[2]))))
        elif name == "add":
            self.put(o[0], self.add(self.get(o[0]), self.get(o[1])))
            self.flags(self.get(o[0]), 0)
            self.is_ordered = False
        elif name == "sub":
            left, right = self.get(o[0]), self.get(o[1])
            self.put(o[0], self.subtract(left, right))
            self.flags(left, right)
        elif name == "cmp":
            self.flags(self.get(o[0]), self.get(o[1]))
        elif name == "kmovw":
            content = self.registers[o[1][1]]
            number = content.number if isinstance(content, LowByte) else self.number(content)
            self.registers[f"k{o[0][1]}"] = number & 0xFF
        else:
            raise NotProved("an instruction that is not modelled")

    def flags(self, a: Content, b: Content) -> None:
        self.is_ordered = True
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region:
            self.compared = (a.offset, b.offset)
        elif isinstance(a, int) and isinstance(b, int):
            self.compared = (a, b)
        else:
            self.compared = None

    def vector(self, name: str, o: tuple[Any, ...], mask: Any) -> None:
        space = self.space
        count = o[0][2] if o[0][0] == "v" else o[1][2]

        enabled = 255 if mask is None else self.number(self.registers[f"k{mask[0]}"])

        def lanes_of(index: int) -> list[Word]:
            return self.lanes(o[index], count, enabled)

        def each(function: Any, *indices: int) -> list[Word]:
            return [function(*words) for words in zip(*map(lanes_of, indices), strict=True)]

        def immediate() -> int:
            if o[-1][0] != "i":
                raise NotProved("a count in a register")
            return int(o[-1][1]) & 255

        if mask is not None and name not in _BY_WORD:
            raise NotProved(
                "a mask that does not stand for words, or an instruction that moves them"
            )
        if name in ("vmovdqa", "vmovdqa64", "vmovaps"):
            for operand in o:
                if operand[0] == "m":
                    self.check_alignment(self.place(operand), 8 * count)

        if name in ("vmovdqu", "vmovdqa", "vmovdqu64", "vmovdqa64", "vmovups", "vmovaps"):
            self.write(o[0], lanes_of(1), mask)
        elif name in ("vpxor", "vpxorq", "vpxord", "vxorps"):
            if o[1] == o[2] and mask is None:
                self.write(o[0], [0] * count)
            else:
                self.write(o[0], each(space.xor, 1, 2), mask)
        elif name in ("vpor", "vporq"):
            self.write(o[0], each(space.or_, 1, 2), mask)
        elif name in ("vpandn", "vpandnq"):
            self.write(o[0], each(lambda a, b: space.and_(space.invert(a), b), 1, 2), mask)
        elif name == "vpternlogq":
            self.write(o[0], each(lambda a, b, c: space.table(immediate(), a, b, c), 0, 1, 2), mask)
        elif name in ("vprolq", "vpsllq", "vpsrlq"):
            by = immediate()
            if name == "vprolq":
                self.write(o[0], each(lambda a: space.rotate(a, by), 1), mask)
            else:
                left = name == "vpsllq"
                self.write(o[0], each(lambda a: space.shift(a, by, left), 1), mask)
        elif name == "vpaddq" and o[1] == o[2]:
            self.write(o[0], each(lambda a: space.shift(a, 1, True), 1), mask)
        elif name == "vprolvq":
            self.write(o[0], each(lambda a, by: space.rotate(a, self.number(by)), 1, 2), mask)
        elif name == "vpermq" and o[2][0] == "i":
            self.write(
                o[0],
                [lanes_of(1)[i // 4 * 4 + (immediate() >> 2 * (i % 4) & 3)] for i in range(count)],
                mask,
            )
        elif name == "vpermq":
            words = lanes_of(2)
            self.write(o[0], [words[self.number(i) % count] for i in lanes_of(1)], mask)
        elif name in ("vpunpcklqdq", "vpunpckhqdq", "vunpckhpd", "vunpcklpd"):
            high = "h" in name.removeprefix("vunpck").removeprefix("vpunpck")[:1]
            a, b = lanes_of(1), lanes_of(2)
            self.write(o[0], [(b if i % 2 else a)[i // 2 * 2 + high] for i in range(count)], mask)
        elif name == "vmovlhps":
            self.write(o[0], [lanes_of(1)[0], lanes_of(2)[0]])
        elif name in ("vpblendd", "vblendps"):
            pairs = [immediate() >> 2 * i & 3 for i in range(count)]
            if any(pair in (1, 2) for pair in pairs):
                raise NotProved("half of a word")
            a, b = lanes_of(1), lanes_of(2)
            self.write(o[0], [b[i] if pair else a[i] for i, pair in enumerate(pairs)])
        elif name in ("vextractf128", "vextracti128", "vextracti32x4", "vextracti64x2"):
            words = self.lanes(o[1], o[1][2])
            self.write(o[0], words[2 * immediate() : 2 * immediate() + 2])
        elif name in ("vpbroadcastq", "vbroadcastsd"):
            source = o[1]
            word = self.lanes(source, 1)[0] if source[0] != "r" else self.word(self.get(source))
            self.write(o[0], [word] * count, mask)
        elif name in ("vmovq", "vmovsd") and len(o) == 2:
            if o[0][0] == "v":
                word = self.lanes(o[1], 1)[0] if o[1][0] != "r" else self.word(self.get(o[1]))
                self.write(o[0], [word, 0])
            else:
                self.put(o[0], self.lanes(o[1], 1)[0])
        elif name == "vpinsrq":
            words = self.lanes(o[1], 2)
            words[immediate() & 1] = self.word(self.get(o[2]))
            self.write(o[0], words)
        elif name == "vpextrq":
            self.put(o[0], self.lanes(o[1], 2)[immediate() & 1])
        elif name == "vpexpandq":
            bits = self.number(self.registers[f"k{mask[0]}"])
            words, source = [], 0
            place = self.place(o[1]) if o[1][0] == "m" else None
            for i in range(count):
                if bits >> i & 1:
                    one = (
                        self.load(self.add(place, 8 * source))
                        if place
                        else self.lanes(o[1], count)[source]
                    )
                    words.append(self.word(one))
                    source += 1
                else:
                    words.append(0 if mask[1] else self.lanes(o[0], count)[i])
            self.write(o[0], words)
        elif name == "vpshufb":
            both = zip(lanes_of(1), lanes_of(2), strict=True)
            self.write(o[0], [self.shuffled(a, by, i % 2) for i, (a, by) in enumerate(both)], mask)
        else:
            raise NotProved("an instruction that is not modelled")

    def shuffled(self, word: Word, by: Word, half: int) -> Word:
        """A permutation of a word's bytes, which must be a rotation; `half`: the word's place in 16 bytes."""
        order = [(self.number(by) >> 8 * i & 0x8F) - 8 * half for i in range(8)]
        if order != [(order[0] + i) % 8 for i in range(8)]:
            raise NotProved(f"a shuffle that is no rotation: {order}")
        return self.space.rotate(word, -8 * order[0])
