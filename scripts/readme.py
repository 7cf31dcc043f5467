"""The generated parts of README.md and other pages: what stands between a pair of markers."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def replace_section(name: str, text: str, page: Path = README) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->`; raises ValueError without them."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    body = text.strip("\n")
    content = page.read_text()
    before, opening, rest = content.partition(begin)
    _, closing, after = rest.partition(end)
    if not (opening and closing):
        raise ValueError(f"{page.name} has no section between {begin.strip()} and {end.strip()}")
    page.write_text(f"{before}{begin}\n{body}\n\n{end}{after}")
