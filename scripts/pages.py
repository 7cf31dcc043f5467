"""The pages, and their generated parts: what stands between a pair of markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"


def pages() -> list[Path]:
    """Every page that has generated parts or links: README.md, SOUNDNESS.md, and all in docs."""
    return [README, ROOT / "SOUNDNESS.md", *sorted(DOCS.rglob("*.md"))]


def with_sections(content: str, names: Sequence[str], make: Callable[[str, str], str]) -> str:
    """The page in which each section `<!-- name -->` ... `<!-- /name -->` with one of these names
    holds what `make` makes of its name and of what it held."""

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        body = make(name, match["body"].strip("\n")).strip("\n")
        return f"<!-- {name} -->\n\n{body}\n\n<!-- /{name} -->\n"

    known = "|".join(map(re.escape, names))
    section = rf"(?ms)^<!-- (?P<name>{known}) -->\n(?P<body>.*?)^<!-- /(?P=name) -->\n"
    return re.sub(section, replaced, content)


def has_section(content: str, name: str) -> bool:
    """Whether a page has a section of that name."""
    return f"<!-- {name} -->\n" in content


def replace_section(name: str, text: str, page: Path = README) -> None:
    """Put `text` into the section of that name; raises ValueError where there is none."""
    content = page.read_text()
    if not has_section(content, name):
        raise ValueError(f"{page.name} has no section {name}")
    page.write_text(with_sections(content, [name], lambda _name, _body: text))
