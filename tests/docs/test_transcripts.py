"""What the pages show is what the commands print; `make docs` renews it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.pages import README, ROOT, has_section, pages
from scripts.transcripts import BY_HAND, TRANSCRIPT, block, renewed, steps_in

SHOWING = [page for page in pages() if has_section(page.read_text(), TRANSCRIPT)]


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_is_shown_is_printed(page: Path) -> None:
    content = page.read_text()
    assert renewed(content) == content, "stale: run `make docs`"


def test_the_readme_shows_a_proof_a_refutation_and_a_residue() -> None:
    text = README.read_text()
    assert text.count(f"<!-- {TRANSCRIPT} -->") == 3
    assert "REFUTED" in text
    assert "key-dependent" in text


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_is_run_by_hand_says_when(page: Path) -> None:
    text = page.read_text()
    found = re.findall(rf"(?ms)^<!-- {BY_HAND} -->\n(.*?)^<!-- /{BY_HAND} -->\n", text)
    assert len(found) == text.count(f"<!-- {BY_HAND} -->")
    for body in found:
        shown, run_on, date = body.strip().rpartition("Run on ")
        assert run_on and re.fullmatch(r"\d{4}-\d\d-\d\d\.", date)
        steps = steps_in("    " + shown.strip())
        assert any(step.shown for step in steps)


def page_of(text: str, name: str = TRANSCRIPT) -> str:
    return f"before\n\n<!-- {name} -->\n\n{text}\n\n<!-- /{name} -->\n\nafter\n"


def test_another_text_is_replaced_and_nothing_else() -> None:
    shown = page_of("    $ echo new; exit 1\n    old\n    $ echo $?\n    0")
    assert renewed(shown) == page_of("    $ echo new; exit 1\n    new\n    $ echo $?\n    1")
    assert renewed(page_of("    $ echo new\n    old", BY_HAND)).count("old") == 1
    dated = renewed(page_of("    $ echo new\n    old\n\nRun on 2020-01-01.", BY_HAND), by_hand=True)
    assert re.search(r"    \$ echo new\n    new\n\nRun on 20\d\d-\d\d-\d\d\.\n", dated)


def test_times_and_versions_of_qemu_are_kept() -> None:
    command = "    $ echo 'what   time'; echo 'x  10.12 s, by qemu-ppc version 9'"
    shown = page_of(f"{command}\n    what  time\n    x  3.45 s, by qemu-ppc version 7")
    assert renewed(shown) == shown


def test_one_page_is_one_session() -> None:
    text = page_of("    $ echo one > file")
    text += page_of("    $ cat \\\n    >     file | tr o 0; ls\n    0ne\n    binaries\n    file")
    assert renewed(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("    $ vdso-verify prove none", "exit code 2: vdso-verify: none: no such file"),
        ("    $ exit 3\n    $ echo $?\n    $ exit 4", "exit code 4"),
        ("    $ pwd", "path of this machine"),
    ],
)
def test_what_is_not_expected_ends_it(text: str, reason: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(reason)):
        renewed(page_of(text))


@pytest.mark.parametrize("text", ["    output", "$ echo"])
def test_what_is_no_transcript_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not indented|no command"):
        steps_in(text)


def test_a_block_is_read_back() -> None:
    text = "    $ a \\\n    >     b\n    one\n\n    two\n    $ c\n    $ d\n    three"
    assert block(steps_in(text)) == text
