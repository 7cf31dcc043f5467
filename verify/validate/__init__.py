"""Comparing the harness's reading of instructions with QEMU, and the record of it.

`verify.validate.campaign.validate` compares; `unchecked_forms` looks a function up in the record.
"""

from verify.validate.model import Group, Mismatch, Row, Validation, exit_code
from verify.validate.record import semantics_version, unchecked_forms

__all__ = [
    "Group",
    "Mismatch",
    "Row",
    "Validation",
    "exit_code",
    "semantics_version",
    "unchecked_forms",
]
