"""The correctness suite: one table of checks of an implementation.

The gate of a run makes the fast ones, `conform` makes all. The expected outputs are in `Items`:
NIST's known answers, outputs of the literal reference, of another implementation, or of other
variants of the same worker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mldsa_lab.sets import TLS_OPERATIONS
from mldsa_lab.worker import cases
from mldsa_lab.worker.examination import (
    CheckCase,
    Examination,
    GroupJudge,
    Source,
    Subject,
    must_answer_refused,
    must_differ,
    must_repeat,
)

_NO_SK = "it does not start from only an encoded private key"
_ML_DSA = ("ml-dsa",)
_ENCODED = ("ml-dsa", "slh-dsa", "fn-dsa")
_SEEDED = ("ml-dsa", "slh-dsa", "ml-kem")
_ACVP = ("ml-dsa", "slh-dsa")
_FN = ("fn-dsa",)
_KNOWN = ("known",)
_PEER = ("inputs", "peer")
_NOT_REFERENCE: tuple[Source, ...] = ("others", "worker")
_REFUSED: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "refuses-signature": ("a signature with one bit flipped, of zeros or of ones", None),
    "refuses-c-tilde": ("a signature with another c_tilde", _ML_DSA),
    "refuses-z": ("a signature with another z", _ML_DSA),
    "refuses-hint": ("a malformed hint, and another one", _ML_DSA),
    "refuses-length": ("a signature of a wrong length", None),
    "refuses-message": ("another message", None),
    "refuses-context": ("another context, and one of 256 bytes", None),
    "refuses-key": ("another public key, and one of a wrong length", _ENCODED),
}


def _no_rnd(*forms: str) -> Callable[[Subject], str | None]:
    """Why a check of a deterministic output does not apply."""
    return lambda s: f"it announces rnd {s.variant.rnd}" if s.variant.rnd in forms else None


def _no_context(subject: Subject) -> str | None:
    return None if subject.variant.context else "it announces context no"


def _no_batch(subject: Subject) -> str | None:
    return None if subject.variant.mode == "batch" else "it announces no batch interface"


def _always(subject: Subject) -> str | None:
    return None


def _repeats(exam: Examination) -> GroupJudge:
    return must_repeat if exam.subject.variant.deterministic else must_differ


def _keys_repeat(exam: Examination) -> GroupJudge:
    """A worker that cannot derive a key from a seed keeps one for all."""
    return partial(must_repeat, distinct=exam.subject.scheme.has_seed)


def _traces_repeat(exam: Examination) -> GroupJudge | None:
    asked_twice = exam.items.source != "reference" and exam.subject.variant.deterministic
    return partial(must_repeat, distinct=False) if asked_twice else None


# fmt: off
SUITE: tuple[CheckCase, ...] = (
    CheckCase("acvp-keygen", "keygen", "NIST's known answers: keys of a seed",
              partial(cases.known, kind="keygen"), _SEEDED, _KNOWN),
    CheckCase("acvp-siggen", "sign", "NIST's known answers: deterministic signatures",
              partial(cases.known, kind="siggen"), _ACVP, _KNOWN,
              skip=_no_rnd("none"), may_refuse=_NO_SK),
    CheckCase("acvp-siggen-hedged", "sign", "NIST's known answers: signatures with an rnd",
              partial(cases.known, kind="siggen-hedged"), _ACVP, _KNOWN,
              skip=_no_rnd("none", "zero"), may_refuse=_NO_SK),
    CheckCase("acvp-sigver", "verify", "NIST's known answers: good and bad signatures",
              partial(cases.known, kind="sigver"), _ACVP, _KNOWN),
    CheckCase("acvp-encaps", "encaps", "NIST's known answers: ciphertexts and secrets",
              partial(cases.known, kind="encaps"), needs=_KNOWN, skip=_no_rnd("none")),
    CheckCase("acvp-decaps", "decaps", "NIST's known answers: secrets of ciphertexts",
              partial(cases.known, kind="decaps"), needs=_KNOWN, may_refuse=_NO_SK),
    CheckCase("acvp-public-keys", "encaps", "NIST's known answers: good and bad public keys",
              partial(cases.known, kind="public-keys"), needs=_KNOWN),
    CheckCase("acvp-private-keys", "decaps", "NIST's known answers: good and bad private keys",
              partial(cases.known, kind="private-keys"), needs=_KNOWN, may_refuse=_NO_SK),
    CheckCase("known-digests", "hash", "Digests of messages around the lengths of blocks",
              cases.known_digests, needs=()),
    *(CheckCase(f"agreed-{operation}", operation, "Version, cipher suite and group are the set's",
                cases.known_agreement, needs=())
      for operation in TLS_OPERATIONS),
    CheckCase("own-keys-keygen", "keygen", "Keys of its own have the set's sizes",
              cases.new_keys, _FN, _KNOWN, is_quiet=True),
    CheckCase("own-keys-sign", "sign", "Private keys of its own sign",
              cases.own_keys, _FN, _KNOWN),
    CheckCase("own-keys-verify", "verify", "Public keys of its own verify these",
              partial(cases.own, name="own-keys-sign"), _FN, _KNOWN),

    CheckCase("keygen-again", "keygen", "Keys have the set's sizes and are the seed's alone",
              cases.repeated, needs=(), together=_keys_repeat, is_fast=False),
    CheckCase("refuses-seed", "keygen", "A seed of a wrong length fails",
              partial(cases.wrong, field="seed"), needs=(), is_fast=False),
    CheckCase("{source}-keygen", "keygen", "Keys are those that others make of the seed",
              cases.of_items, _SEEDED),
    CheckCase("reference-sign", "sign", "Signatures are the reference's",
              cases.of_items, sources=("reference",), skip=_no_rnd("none")),
    CheckCase("reference-sign-rnd", "sign", "Signatures with an rnd are the reference's",
              partial(cases.of_items, name="hedged"), sources=("reference",),
              skip=_no_rnd("none", "zero")),
    CheckCase("{source}-trace", "trace", "The iterations are the right ones, and repeat",
              cases.traces, together=_traces_repeat, is_quiet=True),
    CheckCase("signs", "sign", "Signatures have the right size, or are those of others",
              cases.signs),
    CheckCase("signs-again", "sign", "Deterministic signatures repeat, others never do",
              cases.repeated, together=_repeats, is_fast=False),
    CheckCase("signs-rnd", "sign", "Another rnd changes the signature, or fails where rnd is zero",
              cases.other_rnd, together=lambda exam: must_differ, is_fast=False),
    CheckCase("signs-each-key-form", "sign", "Each announced private key form signs",
              cases.each_key_form, is_fast=False),
    CheckCase("verified-by-reference", "verify", "The reference accepts its signatures",
              partial(cases.by_other, who="reference", name="signs"), needs=("inputs", "reference"),
              asks="reference"),
    CheckCase("verifies-own", "verify", "It accepts its own signatures",
              partial(cases.own, name="signs"), sources=_NOT_REFERENCE),
    CheckCase("verifies-{source}", "verify", "It accepts the signatures of others",
              cases.of_items),
    *(CheckCase(check, "verify", f"It refuses {what}",
                partial(cases.altered, check=check), families,
                skip=_no_context if check == "refuses-context" else _always,
                is_quiet=check == "refuses-signature")
      for check, (what, families) in _REFUSED.items()),
    CheckCase("refuses-as-verdict", "verify", "Whatever is wrong, the verdict is 00 and no failure",
              partial(cases.altered, check="all", judge=must_answer_refused), is_fast=False),
    CheckCase("z-violation", "z_violation", "A signature with a z out of range has the set's size",
              cases.z_violations, is_quiet=True, is_fast=False),
    CheckCase("refuses-z-norm", "verify", "It refuses a signature with nothing wrong but z's norm",
              cases.z_norm, _ML_DSA),
    CheckCase("refuses-long-context", "sign", "It signs no context that is too long or unannounced",
              partial(cases.wrong, field="context"), is_quiet=True),
    CheckCase("refuses-private-key", "sign", "A private key of a wrong length fails",
              partial(cases.wrong, field="sk"), _ENCODED, is_quiet=True),

    CheckCase("encaps", "encaps", "Ciphertexts and secrets have the right size, or are the others'",
              cases.of_items),
    CheckCase("encaps-again", "encaps", "With a given m the output repeats, else it never does",
              cases.repeated, together=_repeats, is_fast=False),
    CheckCase("decaps-own", "decaps", "It finds the secrets of its own ciphertexts",
              partial(cases.own, name="encaps")),
    CheckCase("decaps-{source}", "decaps", "It finds the secrets of the ciphertexts of others",
              cases.of_items),
    CheckCase("decaps-each-key-form", "decaps", "Each announced private key form decapsulates",
              cases.each_key_form, is_fast=False),
    CheckCase("rejects-ciphertext", "decaps", "An altered ciphertext has the implicit secret",
              cases.altered_ciphertexts),
    CheckCase("refuses-length", "decaps", "A ciphertext of a wrong length fails",
              partial(cases.wrong, field="ciphertext")),
    CheckCase("refuses-private-key", "decaps", "A private key of a wrong length fails",
              partial(cases.wrong, field="sk"), is_quiet=True),
    CheckCase("refuses-key", "encaps", "A public key not reduced or of a wrong length fails",
              partial(cases.wrong, field="pk")),

    *(CheckCase(f"batch-{operation}", operation, "Good and bad in one batch have each its result",
                cases.batch, needs=("group",), skip=_no_batch)
      for operation in cases.SPOILED),

    CheckCase("verified-by-{peer}", "verify", "Another implementation accepts its signatures",
              partial(cases.by_other, who="peer", name="signs"), _ENCODED, _PEER, asks="peer"),
    CheckCase("verifies-{peer}", "verify", "It accepts another implementation's signatures",
              partial(cases.of_peer, produce="sign"), _ENCODED, _PEER, is_quiet=True),
    CheckCase("decaps-by-{peer}", "decaps", "Another implementation finds its secrets",
              partial(cases.by_other, who="peer", name="encaps"), needs=_PEER, asks="peer"),
    CheckCase("decaps-of-{peer}", "decaps", "It finds another implementation's secrets",
              partial(cases.of_peer, produce="encaps"), needs=_PEER, is_quiet=True),
)
# fmt: on
"""All checks, in the order they are made. Records name a check by these names, and the page its
kind by the first word."""
