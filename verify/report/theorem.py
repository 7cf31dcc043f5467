"""What is particular to a contract in a report: what is proved for all of what, and with which
commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from verify.errors import printable
from verify.verdict import Contract, Environment, Result

NAMES: Mapping[Contract, str] = {
    Contract.CHACHA20: "ChaCha20",
    Contract.GETRANDOM: "getrandom",
}
INPUTS: Mapping[Contract, str] = {
    Contract.CHACHA20: "every key, every 64-bit counter, every number of blocks",
    Contract.GETRANDOM: "every argument, every state with a position of at most 96, whatever the"
    " kernel's data are at each read, every result of a system call",
}
"""All inputs in the contract, in words."""


def contracts_of(results: Iterable[Result]) -> list[Contract]:
    """The contracts of some results, in the order of the contracts."""
    found = {result.contract for result in results}
    return [contract for contract in Contract if contract in found]


def subject(results: Iterable[Result]) -> str:
    """What some results are about."""
    names = [NAMES[contract] for contract in contracts_of(results)]
    return " and ".join(names or [NAMES[Contract.CHACHA20]])


def inputs(result: Result) -> str:
    """All inputs for which the properties of a result are proved, in words."""
    return INPUTS[result.contract]


def commands(result: Result) -> list[str]:
    """The command lines that show again what a result says."""
    file = shlex.quote(printable(result.target.source))
    if result.contract is Contract.CHACHA20:
        return [
            f"vdso-verify prove --certificate certificate {file}",
            f"vdso-verify check certificate --reproduce {file}",
        ]
    where = ""
    if result.environment is not None:
        where = _where(result.environment)
    return [
        f"vdso-verify prove --contract getrandom {where}{file}",
        f"vdso-verify prove {file}  # the ChaCha20 in it",
    ]


def _where(environment: Environment) -> str:
    """The options that say where the kernel's data lie."""
    pages = f"--page-size {environment.page_bytes} "
    if environment.inside is not None:
        return f"{pages}--linux {environment.linux} "
    return f"{pages}--data-page {environment.data_page} "
