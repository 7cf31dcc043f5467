"""Values of the code in words."""

from __future__ import annotations

from functools import lru_cache

from specs.contract import REGIONS
from verify.arch import ON_STACK, Register, Saved
from verify.lift.machine import RegisterWrite
from verify.properties.abi import entry_value
from verify.prove.segments import Segments
from verify.prove.setting import high_word, low_word
from verify.terms import Linear, Term, extract, linear

_POINTERS = tuple(region.name for region in REGIONS)
_TITLES = {
    "ra": "return address",
    "sp": "sp at entry",
    "count": "the counter at entry",
    "block_count": "the block's counter",
}


@lru_cache(maxsize=2)
def kept_registers(segments: Segments) -> dict[Term, Register]:
    """The registers that the caller gets back, by what they hold at entry."""
    architecture = segments.target.architecture
    found = {
        entry_value(segments, register.name): register
        for register in architecture.with_saved(Saved.CALLEE)
        if register.name != architecture.stack_pointer
    }
    if architecture.return_address != ON_STACK:
        found[segments.names.address("ra")] = architecture.register(architecture.return_address)
    return found


def in_words(segments: Segments, value: Term) -> str:
    """What a value is; empty where there are no few words for it."""
    names = segments.names
    if value in kept_registers(segments):
        return f"{kept_registers(segments)[value].name} of the caller"
    known = {word: f"key word {number}" for number, word in enumerate(names.key)}
    for count in (names.count, names.block_count):
        title = _TITLES[count.name]
        known |= {
            low_word(count): f"low word of {title}",
            high_word(count): f"high word of {title}",
        }
    if value in known:
        return known[value]
    if value.op in ("sign_extend", "zero_extend"):
        return in_words(segments, value.args[0])
    if value.op == "concat" and all(part.value == 0 for part in value.args[:-1]):
        return in_words(segments, value.args[-1])
    return sum_in_words(linear(value))


def sum_in_words(value: Linear) -> str:
    """A sum of multiples of named variables; empty for any other."""
    if not value.coefficients:
        return f"{value.constant:#x}"
    if any(atom.op != "var" or not _is_named(atom.name) for atom in value.coefficients):
        return ""
    text = ""
    for atom, factor in sorted(value.coefficients.items(), key=lambda one: _rank(one[0].name)):
        many = f"{abs(factor)}*" if abs(factor) != 1 else ""
        sign = " - " if factor < 0 else " + "
        text += f"{sign}{many}{_TITLES.get(atom.name, atom.name)}"
    if value.constant:
        text += f" {'-' if value.constant < 0 else '+'} {abs(value.constant)}"
    return text.removeprefix(" + ").strip()


def _is_named(name: str) -> bool:
    return name in (*_POINTERS, *_TITLES, "nblocks", "index")


def _rank(name: str) -> tuple[bool, str]:
    return name == "index", name


def address_in_words(value: Term) -> str:
    """Where in dst, key, counter or the stack a value points to; empty for one that is no such
    address."""
    found = linear(value)
    atoms = {atom.name: factor for atom, factor in found.coefficients.items() if atom.op == "var"}
    if len(atoms) != len(found.coefficients) or set(atoms) - {*_POINTERS, "sp", "index"}:
        return ""
    bases = [factor for name, factor in atoms.items() if name != "index"]
    return sum_in_words(found) if bases == [1] else ""


def blocks_in_words(value: Term) -> str:
    """A sum of multiples of nblocks and of the number of blocks finished; empty for any other."""
    found = linear(value)
    names = {atom.name for atom in found.coefficients if atom.op == "var"}
    if len(names) != len(found.coefficients) or not names or names - {"nblocks", "index"}:
        return ""
    return sum_in_words(found)


def written_part(segments: Segments, write: RegisterWrite, register: Register) -> Term | None:
    """What a write puts into a register, or into the part of one that the ABI names; None where it
    does not write all of it."""
    layout = segments.engine.layout
    offset, size = layout.registers[register.storage]
    width = write.value.width // 8
    if not (write.offset <= offset and offset + size <= write.offset + width):
        return None
    first = offset - write.offset if layout.little else write.offset + width - offset - size
    value = extract(write.value, 8 * (first + size) - 1, 8 * first)
    return extract(value, *register.bits) if register.bits else value
