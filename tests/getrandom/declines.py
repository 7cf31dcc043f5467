"""Getrandoms that decline every call: instructions of AArch64, in place of those of a file."""

from __future__ import annotations

from dataclasses import replace

from tests.getrandom.adversaries import target_in
from tests.history.programs import BINARIES
from verify.arch.patching import Condition
from verify.getrandom.claims import Claim
from verify.getrandom.prove import prove_getrandom
from verify.target import Alternative, Target
from verify.verdict import PropertyResult, Verdict

ALL = frozenset(claim.value for claim in Claim)
NOP = 0xD503_201F

SYSTEM_CALL = (0xD280_22C8, 0xD400_0001, 0xD65F_03C0)  # mov x8, #278; svc #0; ret
QUERY = (0x9280_04A0, 0xD65F_03C0)  # mov x0, #-ENOSYS; ret
BRANCHES = (0xB500_00E0, 0xB500_00C1, 0x3500_00A2, 0xB100_049F, 0x5400_0061)
"""cbnz x0; cbnz x1; cbnz w2; cmn x4, #1; b.ne: past the two instructions behind them."""
DECLINES = (*BRANCHES, *QUERY, *SYSTEM_CALL)


def declining(code: tuple[int, ...], gate: int | None) -> tuple[Target, int]:
    """A target and the entry of its getrandom, which is that code. `gate` is what the kernel puts
    in place of its first instruction on other processors."""
    path = BINARIES / "arm64/getrandom.so"
    target = target_in(path)
    entry = target.function.address
    data = b"".join(word.to_bytes(4, "little") for word in code)
    patch = Alternative(entry, data, Condition())
    assert len(data) <= target.function.size
    # ChaCha20 lies elsewhere: nothing calls it.
    elsewhere = replace(target.function, address=entry + 0x10_0000)
    target = replace(
        target,
        function=elsewhere,
        segments=tuple(segment.patched(patch) for segment in target.segments),
    )
    if gate is not None:
        other = Alternative(entry, gate.to_bytes(4, "little"), Condition((("feature", True),)))
        target = replace(target, left_out=(other,))
    return target, entry


def results(code: tuple[int, ...], gate: int | None) -> dict[str, PropertyResult]:
    """What is said of each property."""
    return {one.property: one for one in prove_getrandom(*declining(code, gate))}


def proved(code: tuple[int, ...], gate: int | None) -> set[str]:
    """The properties that are PROVED."""
    found = results(code, gate)
    assert found.keys() == ALL
    return {name for name, one in found.items() if one.verdict is Verdict.PROVED}
