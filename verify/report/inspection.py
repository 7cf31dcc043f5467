"""The report on what was found in a file, for people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from verify.errors import printable
from verify.inspection import Inspection
from verify.verdict import VariantSummary


def print_inspection(console: Console, inspection: Inspection) -> None:
    """Which function was found and how, its loops, and its instructions with the loops' heads."""
    target = inspection.target
    end = target.address + target.size
    rows = [("file", target.source), ("sha256", target.sha256)]
    if len(target.path) > 1:
        rows += [("found in", " > ".join(target.path)), ("image sha256", target.image_sha256)]
    rows += [
        ("architecture", target.architecture),
        ("build id", target.build_id or "none"),
        ("function", f"{target.function}, {target.address:#x}..{end:#x}, {target.size} bytes"),
        ("its sha256", target.function_sha256),
        ("located", target.located),
    ]
    for loop in inspection.loops:
        depth = f", depth {loop.depth}" if loop.depth > 1 else ""
        rows.append(
            (
                "loop",
                f"{loop.head:#x}..{loop.last:#x}, {loop.instructions} instructions{depth}",
            )
        )
    if not inspection.loops:
        rows.append(("loops", "none"))
    if inspection.unknown:
        rows.append(("variants", f"not known: {inspection.unknown}"))
    for variant in inspection.variants:
        rows.append(("variant", _variant(variant)))
    for name, value in rows:
        console.print(f"{name:<14}{printable(value)}", soft_wrap=True)
    console.print()
    heads = {loop.head for loop in inspection.loops}
    digits = len(f"{end:x}")
    for instruction in inspection.instructions:
        if instruction.address in heads:
            console.print(Text(f"loop {instruction.address:#x}:", style="bold"))
        code = f"  {instruction.address:{digits}x}  {instruction.code}  {instruction.text}"
        console.print(printable(code), soft_wrap=True)


def _variant(variant: VariantSummary) -> str:
    """Its name, and each patch with its address, its bytes and when the kernel writes it."""
    patches = (
        f"{patch.address:#x} becomes {patch.code} ({patch.condition})" for patch in variant.patches
    )
    return f"{variant.name}: {'; '.join(patches) or 'nothing is patched'}"
