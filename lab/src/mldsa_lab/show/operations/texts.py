"""The paragraphs of texts.md, by their titles."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def _all_texts() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("texts.md").read_text(encoding="utf-8")
    parts = (part.strip().split("\n\n") for part in f"\n{text}".split("\n# ")[1:])
    return {title: paragraphs for title, *paragraphs in parts}


def texts(title: str) -> list[str]:
    """Return the paragraphs of this title; none if it has none."""
    return _all_texts().get(title, [])
