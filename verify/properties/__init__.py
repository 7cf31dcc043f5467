"""The properties, one file each."""

from __future__ import annotations

from verify.properties.abi import ABI
from verify.properties.counter import COUNTER
from verify.properties.footprint import FOOTPRINT
from verify.properties.model import Property, Stated
from verify.properties.output import OUTPUT
from verify.properties.stack import STACK_PROPERTY

PROPERTIES: tuple[Property, ...] = (OUTPUT, COUNTER, FOOTPRINT, STACK_PROPERTY, ABI)

__all__ = ["PROPERTIES", "Property", "Stated"]
