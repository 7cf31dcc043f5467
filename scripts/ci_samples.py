"""Writes into docs/ci.md what the script and the hook print and write, on an object of ours.

Needs the toolchain of the tests, which makes the object.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts.readme import replace_section
from tests.ci.kernel import ROOT, samples

PAGE = ROOT / "docs/ci.md"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for name, text in samples(Path(directory)).items():
            replace_section(name, text, PAGE)
