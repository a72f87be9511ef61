"""Published claims about ML-DSA, judged against theory, the standard and arithmetic.

`read_claims` reads a file, `audit` judges it. docs/audit.md describes files, rules and verdicts.
"""

from mldsa_lab.audit.audit import Audited, audit
from mldsa_lab.audit.claims import ClaimTable
from mldsa_lab.audit.reading import (
    example,
    example_names,
    example_text,
    parse_claims,
    read_claims,
)
from mldsa_lab.audit.report import as_json, print_audits
from mldsa_lab.audit.verdict import RULES, Band, Judgement, Rule, Verdict

__all__ = [
    "RULES",
    "Audited",
    "Band",
    "ClaimTable",
    "Judgement",
    "Rule",
    "Verdict",
    "as_json",
    "audit",
    "example",
    "example_names",
    "example_text",
    "parse_claims",
    "print_audits",
    "read_claims",
]
