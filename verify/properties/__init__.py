"""The properties, one file each."""

from __future__ import annotations

from verify.properties.abi import ABI
from verify.properties.counter import COUNTER
from verify.properties.footprint import FOOTPRINT
from verify.properties.model import Property, Stated
from verify.properties.output import OUTPUT
from verify.properties.secrecy import SECRECY
from verify.properties.stack import STACK_PROPERTY
from verify.properties.termination import TERMINATION
from verify.properties.timing import TIMING

PROPERTIES: tuple[Property, ...] = (
    OUTPUT,
    COUNTER,
    FOOTPRINT,
    STACK_PROPERTY,
    ABI,
    SECRECY,
    TIMING,
    TERMINATION,
)

__all__ = ["PROPERTIES", "Property", "Stated"]
