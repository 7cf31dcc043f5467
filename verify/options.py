"""What a user can ask of a proof: the one place for its options and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.getrandom.claims import Claim
from verify.verdict import Contract

PROPERTIES = (
    "output",
    "counter",
    "footprint",
    "stack",
    "abi",
    "secrecy",
    "timing",
    "termination",
)
"""Ids of all properties of ChaCha20, in the order of reports."""
PROPERTIES_OF: Mapping[Contract, tuple[str, ...]] = {
    Contract.CHACHA20: PROPERTIES,
    Contract.GETRANDOM: tuple(claim.value for claim in Claim),
}
"""Ids of all properties of each contract, in the order of reports."""


@dataclass(frozen=True)
class Options:
    """Options of `prove`.

    `properties` are ids. `budget` is the solver's budget for one obligation in Z3 resource
    units, which does not depend on the machine; `timeout` bounds one obligation in seconds of
    wall time on top of it (None: no bound). `jobs` is the number of obligations decided at once, of
    getrandoms that of processes. `replay` executes counterexamples under QEMU where it is
    installed. `certificate` is the directory in which certificates are written. `both_lifters`
    proves by each of two lifters, which have to agree. `page_bytes` and `data_page` are where a
    getrandom lies, as in `verify.verdict.Environment`; None: where the kernels of the release
    `linux` have it, its first two numbers; None: of that which the file names.
    """

    properties: tuple[str, ...] = PROPERTIES
    budget: int = 2_000_000
    timeout: float | None = None
    jobs: int = 1
    replay: bool = True
    certificate: Path | None = None
    both_lifters: bool = False
    contract: Contract = Contract.CHACHA20
    page_bytes: int | None = None
    data_page: int | None = None
    linux: tuple[int, int] | None = None
