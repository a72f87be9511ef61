"""Tables of claims for the tests of the audit."""

from __future__ import annotations

from typing import Any

import yaml

from mldsa_lab.audit import audit, parse_claims
from mldsa_lab.audit.judgement import Judgement, Verdict

HEAD = {
    "format": "mldsa-lab claims",
    "version": 1,
    "source": {"title": "a table", "kind": "other"},
}


def text(*claims: dict[str, Any], **head: Any) -> str:
    """A claims file; claims without an id are called a, b, c."""
    named = [{"id": "abcdefgh"[n % 8], **claim} for n, claim in enumerate(claims)]
    return yaml.safe_dump({**HEAD, **head, "claims": named}, allow_unicode=True)


def judged(*claims: dict[str, Any], **head: Any) -> tuple[Judgement, ...]:
    """The findings about such a file."""
    return audit(parse_claims(text(*claims, **head), "t.yaml"))


def verdicts(*claims: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Claim, rule and verdict of each finding."""
    return {(f.claim, f.rule, f.verdict.value) for f in judged(*claims)}


def of_rule(rule: str, *claims: dict[str, Any]) -> list[tuple[str, str]]:
    """Verdict and reading of each finding by a rule."""
    return [(f.verdict.value, f.reading) for f in judged(*claims) if f.rule == rule]


def sign(**more: Any) -> dict[str, Any]:
    """A claim about signing with ML-DSA-65."""
    claim = {"about": "cost", "operation": "sign", "set": "ML-DSA-65", "unit": "us"}
    return {**claim, **more}


GRAVE = (Verdict.IMPLAUSIBLE, Verdict.CONTRADICTION)
"""What an honest table must not get."""
