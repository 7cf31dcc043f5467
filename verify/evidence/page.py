"""Pieces of a page: tables, listings and pictures in HTML, for a notebook to show."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Page(str):
    """HTML that a notebook shows as such."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        """Short: a notebook keeps this text beside the HTML."""
        return f"<{type(self).__name__} of {len(self)} characters>"


def text(content: object) -> str:
    """Content as HTML text."""
    return html.escape(str(content))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Page:
    """A table in a box of its own; cells are HTML."""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in rows
    )
    return Page(
        f'<div class="box"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def facts(rows: Iterable[tuple[str, str]]) -> Page:
    """Names and values, one pair a line; values are HTML."""
    body = "".join(f"<tr><th>{text(name)}</th><td>{value}</td></tr>" for name, value in rows)
    return Page(f'<div class="box"><table class="facts"><tbody>{body}</tbody></table></div>')


def code(content: object) -> str:
    """Content in a fixed font."""
    return f"<code>{text(content)}</code>"


def listing(lines: Iterable[str]) -> Page:
    """Lines in a fixed font, in a box of their own."""
    return Page(f'<div class="box"><pre>{text(chr(10).join(lines))}</pre></div>')


def picture(drawn: str, caption: str) -> Page:
    """An SVG in a box of its own, with a caption."""
    return Page(
        f'<figure><div class="box">{drawn}</div><figcaption>{text(caption)}</figcaption></figure>'
    )


def joined(*parts: str) -> Page:
    """Several pieces, one below the other."""
    return Page("".join(parts))


def words(expected: Sequence[int], actual: Sequence[int], first: str, second: str) -> Page:
    """Two states of 4x4 words side by side; words that differ are in bold and underlined behind a
    mark."""

    def half(values: Sequence[int], other: Sequence[int] | None) -> str:
        rows = []
        for row in range(0, 16, 4):
            cells = []
            for number in range(row, row + 4):
                word = f"{values[number]:08x}"
                same = other is None or values[number] == other[number]
                cells.append(f"<td>{word if same else f'<strong>≠{word}</strong>'}</td>")
            rows.append(f"<tr><th>x{row}</th>{''.join(cells)}</tr>")
        return "".join(rows)

    return Page(
        '<div class="box pair">'
        f"<table class='words'><caption>{text(first)}</caption>{half(expected, None)}</table>"
        f"<table class='words'><caption>{text(second)}</caption>{half(actual, expected)}</table>"
        "</div>"
    )


STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; background: #fff; color: #111;
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2rem; }
p, li { overflow-wrap: anywhere; }
.box { overflow-x: auto; max-width: 100%; margin: .75rem 0; }
.box svg { display: block; max-width: none; }
figure { margin: 1rem 0; } figcaption { font-size: .9rem; color: #333; }
table { border-collapse: collapse; font-size: .9rem; text-align: left; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #bbb; vertical-align: top; }
thead th { border-bottom: 2px solid #111; white-space: nowrap; }
thead + tbody td:last-child { min-width: 10rem; }
table.facts th { font-weight: 600; white-space: nowrap; }
.beside { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); }
.beside > div { min-width: 0; }
table.words { display: inline-table; margin: 0 1.5rem .5rem 0; font-size: .8rem; }
table.words td, table.words th { padding: .2rem .3rem; }
table.words td, table.words th { font-family: "DejaVu Sans Mono", monospace; text-align: right;
  white-space: nowrap; }
table.words strong { text-decoration: underline; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
code, pre { font-family: "DejaVu Sans Mono", monospace; font-size: .85rem; }
td code { white-space: nowrap; }
pre { margin: 0; padding: .6rem; background: #f4f4f4; line-height: 1.4; }
.prompt, .jp-InputPrompt, .jp-OutputPrompt, .anchor-link { display: none; }
.highlight pre { overflow-x: auto; border-left: 3px solid #888; }
.highlight .k, .highlight .kn, .highlight .kc { font-weight: 600; }
.highlight .c1 { font-style: italic; color: #444; }
@media (max-width: 40rem) {
  table.facts, table.facts tbody, table.facts tr, table.facts th, table.facts td { display: block; }
  table.facts tr { border-bottom: 1px solid #bbb; padding: .2rem 0; }
  table.facts th, table.facts td { border: 0; padding: 0 .3rem; white-space: normal; }
  table:not(.facts, .words) { font-size: .8rem; }
  table:not(.facts, .words) :is(th, td) { padding: .2rem; white-space: normal; }
  thead + tbody td:last-child { min-width: 0; }
  table.facts td, td code { white-space: normal; overflow-wrap: anywhere; }
  table.words { font-size: .7rem; } table.words td, table.words th { padding: .2rem .15rem; }
  .box svg { max-width: 150%; height: auto; }
}
@media print { .jp-CodeCell .jp-Cell-inputWrapper { display: none; } }
"""
"""Of a page that is not shown by a notebook's own program. Nothing is said by colour alone."""
