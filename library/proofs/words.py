"""64-bit words with a normal form: XOR of rotated unknowns and of products of two such words.

A word of unknowns is a form over GF(2)[x]/(x^64 − 1): for each *atom*, a set of rotations. Atoms are the unknown
words, the constant 1, and products a ∧ b of two forms. XOR and rotation are then operations on one
long integer, and two words that are built by XOR, rotation and ∧ from the same products are equal as integers. So
equal forms are equal for all values of the unknowns; unequal forms may still be equal, and are then not proved.

Everything here also works on integers of 64 bits, with which a program is run instead of proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from terms import NotProved, Term, is_rotation, ordered

ONES = (1 << 64) - 1


@dataclass(frozen=True)
class Form:
    """Bit 64·a + k: atom a, rotated left by k, is a summand. Atom 0 is the constant 1."""

    bits: int


Word = int | Form


class Space:
    """The atoms of a proof: `unknowns` words and at most `products` products."""

    def __init__(self, unknowns: int, products: int) -> None:
        self.size = 1 + unknowns + products
        self.used = 1 + unknowns
        self.unknowns = unknowns
        self.products: dict[tuple[int, int], int] = {}
        self.low = [self._everywhere((1 << k) - 1) for k in range(64)]
        self.high = [self._everywhere(ONES ^ ((1 << k) - 1)) for k in range(64)]

    def _everywhere(self, chunk: int) -> int:
        return int.from_bytes(chunk.to_bytes(8, "little") * self.size, "little")

    def unknown(self, index: int) -> Form:
        assert 0 <= index < self.unknowns
        return Form(1 << 64 * (1 + index))

    @staticmethod
    def form(word: Word) -> Form:
        if isinstance(word, int):
            return Form(word)
        return word

    def rotated(self, bits: int, k: int) -> int:
        k %= 64
        if k == 0:
            return bits
        return ((bits << k) & self.high[k]) | ((bits >> (64 - k)) & self.low[k])

    def rotate(self, word: Word, k: int) -> Word:
        """Rotate left."""
        k %= 64
        if isinstance(word, int):
            return ((word << k) | (word >> (64 - k))) & ONES
        return Form(self.rotated(self.form(word).bits, k))

    def xor(self, a: Word, b: Word) -> Word:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        return Form(self.form(a).bits ^ self.form(b).bits)

    def or_(self, a: Word, b: Word) -> Word:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        # By De Morgan: no part of the normal form is lost.
        return self.xor(self.xor(a, b), self.and_(a, b))

    def invert(self, a: Word) -> Word:
        return self.xor(a, ONES)

    def and_(self, a: Word, b: Word) -> Word:
        if isinstance(a, int) and isinstance(b, int):
            return a & b
        f, g = self.form(a), self.form(b)
        for one, other in ((f, g), (g, f)):
            if one.bits == 0:
                return 0
            if one.bits == ONES:
                return other
        if f == g:
            return f
        k_f, sign_f = self._standard(f)
        k_g, sign_g = self._standard(g)
        k = k_f if sign_f <= sign_g else k_g
        (f_bits, f_ones), (g_bits, g_ones) = (
            self._positive(self.rotated(x.bits, k)) for x in (f, g)
        )
        bits = 1 << 64 * self._product(*sorted((f_bits, g_bits)))
        # (F + i)(G + j) = FG + iG + jF + ij.
        bits ^= (g_bits if f_ones else 0) ^ (f_bits if g_ones else 0)
        bits ^= ONES if f_ones and g_ones else 0
        return Form(self.rotated(bits, -k))

    def _product(self, f: int, g: int) -> int:
        atom = self.products.get((f, g))
        if atom is None:
            if self.used == self.size:
                raise NotProved("more products than there are rounds for")
            atom = self.products[f, g] = self.used
            self.used += 1
        return atom

    @staticmethod
    def _positive(bits: int) -> tuple[int, bool]:
        """Return the form without its complement, and whether it had one."""
        return (bits ^ ONES, True) if bits >> 63 & 1 else (bits, False)

    def _standard(self, form: Form) -> tuple[int, int]:
        """Return the rotation that is the same for all rotations of a form, and the form so rotated."""
        rest = form.bits >> 64
        if not rest:
            raise NotProved("a word is masked with a constant")
        at = ((rest & -rest).bit_length() - 1) // 64
        chunk = rest >> 64 * at & ONES
        turns = ((chunk << k | chunk >> (64 - k)) & ONES for k in range(64))
        _, k = min((turned, k) for k, turned in enumerate(turns))
        return k, self._positive(self.rotated(form.bits, k))[0]

    def forms(self, words: Iterable[Term], unknowns: dict[Term, Word]) -> list[Word]:
        """Return the words of a run in this form. `unknowns`: those of the run."""
        words, done = list(words), dict(unknowns)
        for term in ordered(words, done, self._parts):
            done[term] = self._of_term(term, done)
        return [done[term] for term in words]

    @staticmethod
    def _parts(term: Term) -> tuple[Term, ...]:
        if term.op == "join" and is_rotation(term):
            return term.args[0].args[:1]  # type: ignore[no-any-return]
        return term.args if term.op in ("and", "or", "xor") else ()

    def _of_term(self, term: Term, done: dict[Term, Word]) -> Word:
        if term.width != 64 or term in done:
            return done[term]
        if term.op == "const":
            return int(term.args[0])
        if term.op == "join" and is_rotation(term):
            return self.rotate(done[term.args[0].args[0]], term.args[0].width)
        if term.op in ("and", "or", "xor"):
            a, b = (done[part] for part in term.args)
            return {"and": self.and_, "or": self.or_, "xor": self.xor}[term.op](a, b)
        raise NotProved(f"a word that is no XOR, rotation or product: {term.op}")


def keccak_f(space: Space, state: list[Word]) -> list[Word]:
    """Keccak-f[1600] step by step: FIPS 202, Algorithms 1 to 7; word (x, y) at x + 5y."""
    a = list(state)
    for round_number in range(24):
        c = [a[x] for x in range(5)]
        for x in range(5):
            for y in range(1, 5):
                c[x] = space.xor(c[x], a[x + 5 * y])
        d = [space.xor(c[(x - 1) % 5], space.rotate(c[(x + 1) % 5], 1)) for x in range(5)]
        a = [space.xor(a[i], d[i % 5]) for i in range(25)]
        x, y = 1, 0
        for t in range(24):
            a[x + 5 * y] = space.rotate(a[x + 5 * y], (t + 1) * (t + 2) // 2)
            x, y = y, (2 * x + 3 * y) % 5
        a = [a[(x + 3 * y) % 5 + 5 * x] for y in range(5) for x in range(5)]
        a = [
            space.xor(
                a[x + 5 * y],
                space.and_(space.invert(a[(x + 1) % 5 + 5 * y]), a[(x + 2) % 5 + 5 * y]),
            )
            for y in range(5)
            for x in range(5)
        ]
        a[0] = space.xor(a[0], round_constant(round_number))
    return a


def round_constant(round_number: int) -> int:
    """FIPS 202, Algorithms 5 and 6."""
    return sum(bit(j + 7 * round_number) << (1 << j) - 1 for j in range(7))


def bit(t: int) -> int:
    """FIPS 202, Algorithm 5."""
    r = [1, 0, 0, 0, 0, 0, 0, 0]
    for _ in range(t % 255):
        r = [0, *r]
        r[0] ^= r[8]
        r[4] ^= r[8]
        r[5] ^= r[8]
        r[6] ^= r[8]
        r = r[:8]
    return r[0]
