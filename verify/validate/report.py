"""The result of a validation for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from verify.agreement import NAMES
from verify.errors import printable
from verify.validate.model import (
    Difference,
    Group,
    Mismatch,
    Row,
    Validation,
    Whole,
    exit_code,
)

FORMAT = 3
"""Version of the JSON format. It changes when a reader of the old one would misunderstand."""


def print_validation(console: Console, validation: Validation) -> None:
    """A table of the instruction forms, and below it what differs first and what is not done."""
    if validation.reason:
        console.print(f"{validation.architecture}: not done: {validation.reason}", soft_wrap=True)
        return
    executor = validation.executor or "QEMU is missing"
    read = f"{validation.architecture} as {NAMES[validation.lifter]} reads it"
    console.print(f"{read}, compared with {executor}", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("instruction")
    table.add_column("opcode/mask")
    for heading in ("instructions", "states", "mismatches"):
        table.add_column(heading, justify="right")
    table.add_column("result")
    for group in validation.groups:
        table.add_row(
            ", ".join(group.mnemonics),
            str(group.form),
            str(len(group.rows)),
            str(group.states),
            str(group.mismatches),
            _result(group),
        )
    console.print(table)
    for group in validation.groups:
        for line in _details(group):
            console.print(line, soft_wrap=True)
    for name in validation.unmodelled:
        console.print(f"not compared, since the harness has no variable for it: {name}")


def print_wholes(console: Console, wholes: Iterable[Whole]) -> None:
    """A table of the functions of which whole calls were compared, and what differs first."""
    wholes = tuple(wholes)
    if not wholes:
        return
    console.print("whole calls, compared in memory, stack and registers")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("function", "variant"):
        table.add_column(heading, overflow="fold")
    for heading in ("registers", "trials", "mismatches"):
        table.add_column(heading, justify="right")
    table.add_column("result")
    for whole in wholes:
        table.add_row(
            printable(f"{whole.source} {whole.function}"),
            whole.variant,
            str(whole.registers),
            str(whole.trials),
            str(whole.mismatches),
            _result(whole),
        )
    console.print(table)
    for whole in wholes:
        name = printable(whole.source)
        if whole.first is not None:
            first = whole.first
            console.print(
                f"{name}: the first call that differs has {first.nblocks} blocks and counter"
                f" {first.counter:#x}; {first.where}: QEMU {first.expected:#x}, the harness"
                f" {first.got:#x}",
                soft_wrap=True,
            )
        if whole.reason:
            console.print(f"{name}: not done: {printable(whole.reason)}", soft_wrap=True)


def _result(group: Group | Whole) -> str:
    if group.mismatches:
        return "DIFFERS"
    return "not done" if group.reason else "same"


def _details(group: Group) -> list[str]:
    """One line for the first instruction that differs, one for the first that is not done."""
    lines = []
    for row in group.rows:
        if row.first is not None:
            first = row.first
            lines.append(
                f"{row.text} ({row.code.hex()} at {first.instruction:#x}): {row.mismatches} of"
                f" {row.states} states differ; the first in {first.where}:"
                f" QEMU {first.expected:#x}, the harness {first.got:#x}"
            )
            break
    if group.undefined:
        lines.append(
            f"{', '.join(group.mnemonics)}: not compared where the manual leaves it undefined:"
            f" {', '.join(group.undefined)}"
        )
    if group.reason:
        lines.append(f"not done: {group.reason}")
    return lines


def to_json(validations: Iterable[Validation], wholes: Iterable[Whole] = ()) -> str:
    """The comparisons as JSON text; numbers that may exceed 2^53 are in hexadecimal strings."""
    validations, wholes = tuple(validations), tuple(wholes)
    content = {
        "format": FORMAT,
        "exit_code": exit_code(validations, wholes),
        "architectures": [_validation(validation) for validation in validations],
        "functions": [_whole(whole) for whole in wholes],
    }
    return json.dumps(content, indent=1) + "\n"


def _whole(whole: Whole) -> dict[str, Any]:
    return {
        "source": whole.source,
        "function": whole.function,
        "variant": whole.variant,
        "registers": whole.registers,
        "trials": whole.trials,
        "mismatches": whole.mismatches,
        "passed": whole.passed,
        "reason": whole.reason,
        "first": None if whole.first is None else _difference(whole.first),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "where": difference.where,
        "expected": f"{difference.expected:#x}",
        "got": f"{difference.got:#x}",
        "key": [f"{word:#010x}" for word in difference.key],
        "counter": f"{difference.counter:#018x}",
        "nblocks": difference.nblocks,
        "seed": difference.seed,
    }


def _validation(validation: Validation) -> dict[str, Any]:
    return {
        "architecture": validation.architecture,
        "lifter": validation.lifter,
        "executor": validation.executor,
        "semantics": validation.semantics,
        "states": validation.states,
        "seed": validation.seed,
        "reason": validation.reason,
        "unmodelled": list(validation.unmodelled),
        "forms": [
            {
                "form": str(group.form),
                "mnemonics": list(group.mnemonics),
                "states": group.states,
                "mismatches": group.mismatches,
                "passed": group.passed,
                "rows": [_row(row) for row in group.rows],
            }
            for group in validation.groups
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "code": row.code.hex(),
        "text": row.text,
        "occurs": row.occurs,
        "states": row.states,
        "mismatches": row.mismatches,
        "checked": row.checked,
        "reason": row.reason,
        "undefined": list(row.undefined),
        "first": None if row.first is None else _mismatch(row.first),
    }


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    return {
        "where": mismatch.where,
        "expected": f"{mismatch.expected:#x}",
        "got": f"{mismatch.got:#x}",
        "instruction": f"{mismatch.instruction:#x}",
        "registers": {name: f"{value:#x}" for name, value in mismatch.registers.items()},
        "memory": [{"address": f"{at:#x}", "bytes": data.hex()} for at, data in mismatch.memory],
    }
