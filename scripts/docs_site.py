"""The hook of mkdocs.yml: pages from other folders, generated pages, links to the repository.

Python-Markdown reads lists and tables less freely than GitHub does, so pages are adapted to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mldsa_lab.cli.main import app

ROOT = Path(__file__).parents[1]
# Pages of the site that are files elsewhere in the repository.
ELSEWHERE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "library/crates/mldsa-lanes/README.md": "rust.md",
    "lab/workers/PROTOCOL.md": "protocol.md",
    "records/README.md": "results.md",
}
# Links to these names lead to the site.
PAGES = {**ELSEWHERE, "docs/schema": "schemas.md"}
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.M | re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not have."""
    pages = {page: (ROOT / name).read_text(encoding="utf-8") for name, page in ELSEWHERE.items()}
    pages["options.md"] = "# All options\n" + "".join(help_texts(typer.main.get_command(app)))
    pages["schemas.md"] = "# Fields of all files\n" + "".join(schema_texts())
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt a page's text, outside blocks of code."""
    uri = page.file.src_uri
    source = next((name for name, to in ELSEWHERE.items() if to == uri), f"docs/{uri}")

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        if not path or re.match("[a-z]+:", path):
            return match[0]
        target = normpath(join(dirname(source), path))
        own = PAGES.get(target, target.removeprefix("docs/"))
        file = files.get_file_from_path(own)
        if (file and file.inclusion.is_included()) or not (ROOT / target).exists():
            return f"]({own}{mark}{anchor})"  # MkDocs reports a name that does not exist
        return f"]({config.repo_url}/blob/main/{target}{mark}{anchor})"

    parts = FENCE.split(re.sub(r"^<!--.*?-->$", "", markdown, flags=re.M | re.S))
    for n, part in enumerate(parts):
        if n % 2:  # a block of code, perhaps within a list
            if indent := len(part) - len(part.lstrip(" ")):
                parts[n] = re.sub("^", " " * (4 - indent), part, flags=re.M)
            continue
        part = re.sub(r"\]\(([^()\s]+)\)", link, part)
        for start in (r"(?:[-*]|\d+\.) ", r"\|"):
            part = re.sub(rf"^(?!{start}| |\n)(.*\n)(?={start})", r"\1\n", part, flags=re.M)
        parts[n] = re.sub(r"^ {2,3}(?=\S)", "    ", part, flags=re.M)
    return "".join(parts)


def help_texts(command: Any, parent: typer.Context | None = None) -> Iterator[str]:
    """Yield the help of a command and of the commands below it."""
    name = command.name if parent else "mldsa-lab"
    context = typer.Context(command, parent, name, terminal_width=100, max_content_width=100)
    yield f"\n## {context.command_path}\n```\n{command.get_help(context)}\n```\n"
    for below in getattr(command, "commands", {}).values():
        yield from help_texts(below, context)


def schema_texts() -> Iterator[str]:
    """Yield a section for each JSON Schema, with a table for each type of it."""
    for path in sorted((ROOT / "docs" / "schema").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        yield f"\n## {schema['title']}\n[schema/{path.name}](schema/{path.name})\n"
        for name, each in {"": schema, **schema.get("$defs", {})}.items():
            if fields := each.get("properties"):
                text = " ".join(each.get("description", "").split())
                yield f"\n{name and f'**{name}.** '}{text}\n\n"
                yield "| field | value |\n|---|---|\n"
                for field, value in fields.items():
                    optional = "" if field in each.get("required", ()) else " (optional)"
                    yield f"| `{field}`{optional} | {' '.join(value_text(value).split())} |\n"


def value_text(value: dict[str, Any]) -> str:
    """Return the values that a schema allows, in words."""
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "enum" in value:
        return ", ".join(f"`{json.dumps(v)}`" for v in value["enum"])
    if "anyOf" in value:
        return " or ".join(map(value_text, value["anyOf"]))
    text = str(value.get("type", "any"))
    if isinstance(value.get("items"), dict):
        text = f"list of {value_text(value['items'])}"
    return f"{text}. {value['description']}" if "description" in value else text
