"""Execute the real bytes of a target on concrete inputs and say what breaks the contract.

QEMU executes, the specification and the ABI judge: nothing here comes from a lifter or a solver, so
what this package reports is a witness of its own for a refutation.
"""

from verify.witness.breach import Breach, breaches, plural
from verify.witness.confirm import (
    StackStore,
    confirm_access,
    confirm_register_write,
    confirm_stack_write,
    stack_stores,
)
from verify.witness.execution import Execution, execute
from verify.witness.inputs import MOST_BLOCKS, Inputs, candidates, other_key
from verify.witness.registers import unobserved
from verify.witness.residue import confirm_residue
from verify.witness.search import search
from verify.witness.shrink import Budget, Shrunk, cleared, key_neighbours, shrink
from verify.witness.steps import first_visits, stopped_after, stopped_before

__all__ = [
    "MOST_BLOCKS",
    "Breach",
    "Budget",
    "Execution",
    "Inputs",
    "Shrunk",
    "StackStore",
    "breaches",
    "candidates",
    "cleared",
    "confirm_access",
    "confirm_register_write",
    "confirm_residue",
    "confirm_stack_write",
    "execute",
    "first_visits",
    "key_neighbours",
    "other_key",
    "plural",
    "search",
    "shrink",
    "stack_stores",
    "stopped_after",
    "stopped_before",
    "unobserved",
]
