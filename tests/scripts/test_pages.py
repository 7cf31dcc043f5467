"""What is generated into a page goes between its markers, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.pages import README, has_section, replace_section


def test_a_section_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n\n<!-- x -->\n\nold\n\n<!-- /x -->\n\n<!-- y -->\nold\n<!-- /y -->\n")
    replace_section("x", "\n| new \\1 |\n", page)
    expected = "a\n\n<!-- x -->\n\n| new \\1 |\n\n<!-- /x -->\n\n<!-- y -->\nold\n<!-- /y -->\n"
    assert page.read_text() == expected


def test_a_section_that_is_not_there(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- y -->\n")
    with pytest.raises(ValueError, match=r"page\.md has no section x"):
        replace_section("x", "new", page)


@pytest.mark.parametrize("name", ["bench", "kernels"])
def test_the_readme_has_what_scripts_write(name: str) -> None:
    assert has_section(README.read_text(), name)
