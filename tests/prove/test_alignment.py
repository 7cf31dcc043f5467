"""Operands of SSE that are not aligned stop the function: what reads them is never proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from binaries.patches import Edit
from tests.prove.adversaries import Adversary
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.verdict import Verdict

import_angr()

from verify.run import prove  # noqa: E402

_KEY_LOADED = "\n.Lkey_loaded:\n"
_LOADS_KEY = "\tmovdqu\t(key), key0\n"
_STORES = "\tmovdqu\trow0, (dst)\n"
# The contract aligns key to 4 bytes and dst not at all, the ABI the stack pointer plus 8 to 16.
MISALIGNED = {
    "load": Edit(_LOADS_KEY, "\tmovdqa\t(key), key0\n"),
    "operand": Edit(_LOADS_KEY, "\tpxor\tkey0, key0\n\tpaddd\t(key), key0\n"),
    "store": Edit(_STORES, "\tmovdqa\trow0, (dst)\n"),
    "stack": Edit(_KEY_LOADED, f"{_KEY_LOADED}\tmovaps\tone, -32(%rsp)\n"),
}


@pytest.mark.parametrize("name", MISALIGNED)
def test_the_function_stops(name: str, tmp_path: Path) -> None:
    program = Adversary(name, "x86_64/looped", ("abi",), (MISALIGNED[name],))
    result = prove(program.target(tmp_path), Options())
    found = {one.property: (one.verdict, one.reason) for one in result.properties}
    assert found.pop("abi") == (Verdict.REFUTED, "does not return")
    assert {verdict for verdict, _ in found.values()} == {Verdict.UNKNOWN}
    assert all("its operand is not aligned" in reason for _, reason in found.values())
