"""Write the Keccak permutations for AArch64 into crates/mldsa-lanes/src/backend/neon/*.s.

`python scripts/keccak_arm.py` writes the files. With `--check` it compares them, and fails if one
differs.

Integer registers. A logical instruction of AArch64 rotates its last operand at no cost, so no
rotation of ρ is an instruction of its own. A word stays unrotated, and the next instruction that
reads it rotates it. This follows Becker and Kannwischer, "Hybrid scalar/vector implementations of
Keccak and SPHINCS+ on AArch64", 2022. The *frame* of a register is the rotation to the right that
gives its word. A result has the frame of its first operand. Frames must be the same after each
round: `FIRST` and `KEPT` are a solution of that condition, which the script asserts. So a round is
101 logical instructions.

There are 29 registers, since x18 and x29 belong to the platform: 25 for the words and four others.
In θ, which needs six, the words `SPILLED` are in memory. The addition of θ moves each word to its
place after π, along the one cycle of 24 words that π has.

Vector registers, two states: words in v0 to v24, XAR for θ's addition and ρ. Arm's cores have the
SHA3 extension in one vector unit, so only a part of θ and nothing of χ uses it.

Four states: a round of two states in vector registers interleave two rounds of one state in integer
registers. Half-way the integer registers change to the last state.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "crates/mldsa-lanes/src/backend/neon"


def rotations() -> list[int]:
    """Return ρ's rotations to the left (FIPS 202, Algorithm 2), of word (x, y) at x + 5y."""
    offsets = [0] * 25
    x, y = 1, 0
    for t in range(24):
        offsets[x + 5 * y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return offsets


RHO = rotations()
# π: the word that lands at a place (FIPS 202, Algorithm 3).
SOURCE = [(x + 3 * y) % 5 + 5 * x for y in range(5) for x in range(5)]

# The word of each column with which its sum begins, and so the frame of the sum.
FIRST = [5, 1, 12, 3, 14]
# Words whose frame after χ is that of the word two columns to the right.
KEPT = {3, 6, 12, 14, 17, 18}
# Frames: of column sums, of what θ adds to each column, of words after π, and after χ.
SUMS = [28, 1, 46, 0, 57]
ADDED = [(SUMS[(x + 1) % 5] - 1) % 64 for x in range(5)]
MOVED = [(ADDED[SOURCE[i] % 5] - RHO[SOURCE[i]]) % 64 for i in range(25)]


def right(i: int, by: int) -> int:
    """Return the word `by` columns to the right of word `i`, cyclically."""
    return i // 5 * 5 + (i + by) % 5


FRAMES = [MOVED[right(i, 2) if i in KEPT else i] for i in range(25)]
assert [FRAMES[i] for i in FIRST] == SUMS

WORDS = [f"x{n}" for n in (*range(2, 18), *range(19, 28))]
SPARE = ["x28", "x30", "x0", "x1"]
SPILLED = (1, 10)
assert SOURCE[SPILLED[1]] == SPILLED[0]

# The order in which a vector round moves its words, found by a search in a scratch program for the
# fewest cycles in LLVM's models of Neoverse V1 and V2 (library/evidence/performance-log.md). Any order in which
# registers suffice is correct.
VECTOR_ORDER = "6 9 22 14 20 2 12 13 19 23 15 4 24 21 3 1 8 18 0 5 7 10 11 16 17"

# The stack's frame in bytes, and places in it.
FRAME = 48
X19, TABLE, STATES, SLOTS = "[sp]", "[sp, #8]", "[sp, #32]", ("[sp, #16]", "[sp, #24]")


def logical(name: str, to: str, a: str, b: str, rotation: int) -> str:
    """Return `to = a name (b rotated right)`."""
    return f"{name} {to}, {a}, {b}" + (f", ror #{rotation % 64}" if rotation % 64 else "")


def chi(and_not: list[str], add: list[str]) -> list[str]:
    """Return the instructions of a plane in an order in which no word is overwritten too early."""
    first = [line for x in range(3) for line in (and_not[x], add[x])]
    return [and_not[4], and_not[3], *first, add[3], add[4]]


def integer_round(last: bool, vectors: bool) -> list[str]:
    """Return a round of one state: the first of two, or the last. The last also sets the flags for
    the end of the loop and, with `vectors`, loads their constant."""
    lines = [f"str {WORDS[word]}, {slot}" for word, slot in zip(SPILLED, SLOTS, strict=True)]
    # θ: the sums, the last where the first spilled word was.
    sums = [*SPARE, WORDS[SPILLED[0]]]
    for x, first in enumerate(FIRST):
        a = WORDS[first]
        for i in range(x, 25, 5):
            if i != first:
                lines.append(logical("eor", sums[x], a, WORDS[i], FRAMES[i] - SUMS[x]))
                a = sums[x]
    # What is added, each where a sum was that is not needed any more.
    added = [WORDS[SPILLED[1]], sums[0], sums[1], sums[2], sums[3]]
    for x in (0, 2, 4, 1, 3):
        left, after = (x - 1) % 5, (x + 1) % 5
        lines.append(logical("eor", added[x], sums[after], sums[left], SUMS[left] - ADDED[x]))

    def move(i: int, to: int, register: str) -> None:
        lines.append(logical("eor", WORDS[to], added[i % 5], register, FRAMES[i] - ADDED[i % 5]))

    # θ and π: along the cycle from the place of one spilled word to that of the other.
    move(0, 0, WORDS[0])
    to = SPILLED[0]
    while SOURCE[to] != SPILLED[1]:
        move(SOURCE[to], to, WORDS[SOURCE[to]])
        to = SOURCE[to]
    for place, word, slot in (
        (to, SPILLED[1], SLOTS[1]),
        (SPILLED[1], SPILLED[0], SLOTS[0]),
    ):
        lines.append(f"ldr {WORDS[place]}, {slot}")
        move(word, place, WORDS[place])
    # χ, the last two words of a plane prepared before the first are overwritten.
    for plane in range(0, 25, 5):
        held = [SPARE[2], SPARE[2], SPARE[2], SPARE[1], SPARE[0]]
        and_not, add = [], []
        for x, t in enumerate(held):
            i, after, next_but_one = plane + x, right(plane + x, 1), right(plane + x, 2)
            turn = MOVED[after] - MOVED[next_but_one]
            and_not.append(logical("bic", t, WORDS[next_but_one], WORDS[after], turn))
            turn = MOVED[i] - MOVED[next_but_one]
            if i in KEPT:
                add.append(logical("eor", WORDS[i], t, WORDS[i], turn))
            else:
                add.append(logical("eor", WORDS[i], WORDS[i], t, -turn))
        lines += chi(and_not, add)
        if plane == 0:
            # ι, in frame 0.
            assert FRAMES[0] == 0
            pointer, constant, more = SPARE[:3]
            lines.append(f"ldr {pointer}, {TABLE}")
            if last:
                lines += [f"ld1r {{v31.2d}}, [{pointer}], #8"] * vectors
                lines += [
                    f"ldp {constant}, {more}, [{pointer}], #16",
                    f"cmp {more}, #0",
                ]
            else:
                lines.append(f"ldr {constant}, [{pointer}], #{8 if vectors else 16}")
            lines += [
                f"str {pointer}, {TABLE}",
                f"eor {WORDS[0]}, {WORDS[0]}, {constant}",
            ]
    return lines


def vector_round(sha3: bool) -> list[str]:
    """Return a round of two states. v31 is ι's constant at the end, and free before."""

    def bitwise(name: str, to: int, *operands: int) -> str:
        return f"{name} " + ", ".join(f"v{n}.16b" for n in (to, *operands))

    lines = []
    sums = [25, 26, 27, 28, 29]
    for x in (2, 0, 1, 3, 4):
        to = sums[x]
        if sha3 and x < 3:
            lines += [
                bitwise("eor3", to, x, x + 5, x + 10),
                bitwise("eor3", to, to, x + 15, x + 20),
            ]
        else:
            lines.append(bitwise("eor", to, x, x + 5))
            lines += [bitwise("eor", to, to, i) for i in range(x + 10, 25, 5)]
    added = [30, sums[0], sums[1], sums[2], sums[3]]
    for x in (0, 2, 4, 1, 3):
        left, after = sums[(x - 1) % 5], sums[(x + 1) % 5]
        if sha3:
            lines.append(f"rax1 v{added[x]}.2d, v{left}.2d, v{after}.2d")
        else:
            lines += [
                f"add v31.2d, v{after}.2d, v{after}.2d",
                f"sri v31.2d, v{after}.2d, #63",
            ]
            lines.append(bitwise("eor", added[x], left, 31))

    # θ, ρ and π: a word goes to its place if that is free, else into a free register until χ. χ of
    # a plane as soon as its words are there and its places and three other registers are free.
    free, at = [sums[4], 31], {}
    planes, left_of = [0, 5, 10, 15, 20], [5] * 5
    for i in map(int, VECTOR_ORDER.split()):
        to, d, left = SOURCE.index(i), added[i % 5], RHO[i]
        at[to] = to if to == i or to in free else min(n for n in free if n >= 25)
        if to != i:
            free = [n for n in free if n != at[to]] + [i]
        if left == 0:
            lines.append(bitwise("eor", at[to], i, d))
        elif sha3:
            lines.append(f"xar v{at[to]}.2d, v{i}.2d, v{d}.2d, #{64 - left}")
        else:
            lines += [bitwise("eor", i, i, d), f"shl v{at[to]}.2d, v{i}.2d, #{left}"]
            lines.append(f"sri v{at[to]}.2d, v{i}.2d, #{64 - left}")
        left_of[i % 5] -= 1
        if left_of[i % 5] == 0:
            free.append(d)
        for plane in list(planes):
            places = range(plane, plane + 5)
            others = [n for n in free if n not in places and n != 31]
            there = at.keys() >= set(places)
            if not there or len(others) < 3 or set(places) - {*free, *map(at.get, places)}:
                continue
            held = [others[n] for n in (2, 2, 2, 1, 0)]
            b = [at.pop(place) for place in places]
            and_not = [bitwise("bic", held[x], b[(x + 2) % 5], b[(x + 1) % 5]) for x in range(5)]
            add = [bitwise("eor", plane + x, b[x], held[x]) for x in range(5)]
            lines += chi(and_not, add)
            free = [n for n in [*free, *b] if n not in places]
            planes.remove(plane)
    assert not planes
    return [*lines, bitwise("eor", 0, 0, 31)]


def interleave(integers: list[str], vectors: list[str]) -> list[str]:
    """Return both in one order, each evenly spread."""
    places = [
        ((n + 0.5) / len(part), line) for part in (integers, vectors) for n, line in enumerate(part)
    ]
    return [line for _, line in sorted(places, key=lambda place: place[0])]


ROTATED = [i for i in range(25) if FRAMES[i]]
INTO_FRAMES = [f"ror {WORDS[i]}, {WORDS[i]}, #{64 - FRAMES[i]}" for i in ROTATED]
OUT_OF_FRAMES = [f"ror {WORDS[i]}, {WORDS[i]}, #{FRAMES[i]}" for i in ROTATED]
ENTER = [f"sub sp, sp, #{FRAME}", f"str x19, {X19}", f"str x1, {TABLE}"]
LEAVE = [f"stp xzr, xzr, {SLOTS[0]}", f"ldr x19, {X19}", f"add sp, sp, #{FRAME}"]


def four(sha3: bool) -> list[str]:
    """Return the permutation of four states, word i of state j at x0 + 32 i + 8 j.

    x0 is a multiple of 16."""
    base = SPARE[2]
    assert base == "x0"
    integers = integer_round(last=False, vectors=True) + integer_round(last=True, vectors=True)
    body = interleave(integers, vector_round(sha3))
    # ι's constant is loaded between the other uses of its register.
    uses = [n for n, line in enumerate(body) if "v31." in line]
    assert body[uses[-2]].startswith("ld1r")
    return [
        *ENTER,
        *(f"ldr q{i}, [x0, #{32 * i}]" for i in range(25)),
        "add x0, x0, #16",
        "2:",
        f"str x0, {STATES}",
        *(f"ldr {WORDS[i]}, [x0, #{32 * i}]" for i in range(25)),
        *INTO_FRAMES,
        "3:",
        *body,
        "b.ne 3b",
        *OUT_OF_FRAMES,
        f"ldr x0, {STATES}",
        *(f"str {WORDS[i]}, [x0, #{32 * i}]" for i in range(25)),
        "add x0, x0, #8",
        "tbnz x0, #3, 2b",
        "sub x0, x0, #32",
        *(f"str q{i}, [x0, #{32 * i}]" for i in range(25)),
        *LEAVE,
    ]


def one() -> list[str]:
    """Return the permutation of the state at x0."""
    pairs = range(0, 24, 2)
    return [
        *ENTER,
        f"str x0, {STATES}",
        *(f"ldp {WORDS[i]}, {WORDS[i + 1]}, [x0, #{8 * i}]" for i in pairs),
        f"ldr {WORDS[24]}, [x0, #192]",
        *INTO_FRAMES,
        "2:",
        *integer_round(last=False, vectors=False),
        *integer_round(last=True, vectors=False),
        "b.ne 2b",
        *OUT_OF_FRAMES,
        f"ldr x0, {STATES}",
        *(f"stp {WORDS[i]}, {WORDS[i + 1]}, [x0, #{8 * i}]" for i in pairs),
        f"str {WORDS[24]}, [x0, #192]",
        *LEAVE,
    ]


FILES = {
    "keccak_one.s": one(),
    "keccak_four.s": four(sha3=False),
    "keccak_four_sha3.s": four(sha3=True),
}


# library/scripts/ct_code/known.toml excuses these two branches, the ends of loops, and there are no others.
BRANCH = re.compile(r"(?:blr?|br?|ret|[ct]bn?z|b\.\w+)(?= |$)")
branches = {match[0] for lines in FILES.values() for line in lines if (match := BRANCH.match(line))}
assert branches == {"b.ne", "tbnz"}


def main() -> int:
    for name, lines in FILES.items():
        text = "// Written by scripts/keccak_arm.py, which explains it.\n"
        text += "".join(line + "\n" if line.endswith(":") else f"    {line}\n" for line in lines)
        path = FOLDER / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(
                f"{path.name} is not what scripts/keccak_arm.py writes: run it",
                file=sys.stderr,
            )
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
