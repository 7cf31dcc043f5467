"""Writes into docs/ci.md what the script and the hook print and write, on an object of ours.

Needs the toolchain of the tests, which makes the object.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts.pages import DOCS, replace_section
from tests.ci.kernel import samples

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for name, text in samples(Path(directory)).items():
            replace_section(name, text, DOCS / "ci.md")
