"""What `prove --json` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import verify

_SCHEMA = Path(verify.__file__).parent / "schema/result.schema.json"


def document_of(file: Path) -> dict[str, Any]:
    """The result in a file, which is as its schema says."""
    document: dict[str, Any] = json.loads(file.read_text())
    Draft202012Validator(json.loads(_SCHEMA.read_text())).validate(document)
    return document
