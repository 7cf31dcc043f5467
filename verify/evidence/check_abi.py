"""Whether a certificate states the facts of the ABI as this version knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verify.arch import ARCHITECTURES, Saved
from verify.evidence.check_model import RefusedError


def check_abi(index: Mapping[str, Any]) -> None:
    """The facts of the ABI are those of this version; raises RefusedError."""
    stated = index["abi"]
    known = {one.name: one for one in ARCHITECTURES}.get(stated["architecture"])
    if known is None:
        raise RefusedError(f"no architecture {stated['architecture']!r}")

    def names(saved: Saved) -> list[str]:
        return [register.name for register in known.with_saved(saved)]

    wanted = {
        "architecture": known.name,
        "name": known.abi,
        "pointer_bits": known.bits,
        "byte_order": known.byte_order,
        "stack_pointer": known.stack_pointer,
        "return_alignment": known.return_alignment,
        "popped_at_return": known.popped_at_return,
        "red_zone": known.red_zone,
        "linkage_area": [list(area) for area in known.linkage_area],
        "preserved": names(Saved.CALLEE),
        "reserved": names(Saved.RESERVED),
        "scratch": names(Saved.CALLER),
    }
    for key, value in wanted.items():
        have = stated.get(key)
        if key in ("preserved", "reserved"):
            have = list(have or {})
        if have != value:
            raise RefusedError(f"the ABI's {key} is {have}, not {value}")
    if index["target"]["architecture"] != known.name:
        raise RefusedError("the target has another architecture than the ABI")
