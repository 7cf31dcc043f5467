"""From an image to the function under proof: by symbol, by what it is, or named by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verify.alternatives import Unreadable, alternatives_in
from verify.arch import ARCHITECTURES, find_architecture
from verify.errors import InputError
from verify.image import GETRANDOM_NAMES, SYMBOL
from verify.target import Alternative, CodeSegment, Function, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verify.arch import Architecture
    from verify.image import Image, Symbol
    from verify.image.elf import Descriptor
    from verify.lift.machine import Machine

BY_HAND = "name the function with --function NAME or --function 0xADDRESS"
LISTED = 8
"""Names or addresses that an error lists."""
_STUBS = (".plt", ".iplt", ".glink", ".got", ".branch_lt")
"""How the names of sections begin that hold the code of linkage stubs."""


def find_target(image: Image, source: str, sha256: str, function: str | None = None) -> Target:
    """The function under proof in an image, which was found in the file `source` of that hash.

    `function` is a symbol's name or an address ("0x..."); None looks for the kernel's symbol, and
    without one for a function that the exported getrandom function calls and that builds
    ChaCha20's constants. Only that last search, and a symbol without a size, have to read
    code. Raises InputError when there is no such function, or more than one, or when it cannot be
    read as it is.
    """
    return _Locator(image, source, sha256).find(function)


def find_getrandom(image: Image, source: str, sha256: str, function: str | None = None) -> Target:
    """The getrandom that an image exports, with the ChaCha20 that it calls, which is found as
    `find_target` does. Raises InputError where there is none, or one of the two cannot be read."""
    return _Locator(image, source, sha256).find_getrandom(function)


class _Locator:
    """The search in one image."""

    def __init__(self, image: Image, source: str, sha256: str) -> None:
        self._image = image
        self._source = source
        self._sha256 = sha256
        self._architecture = self._known_architecture()
        self._alternatives: tuple[Alternative, ...] = ()
        self._unusable = ""
        if not image.running:
            try:
                self._alternatives = alternatives_in(image.elf, self._architecture)
            except Unreadable as error:
                self._unusable = str(error)

    def find(self, function: str | None) -> Target:
        """See `find_target`."""
        return self._checked(self._automatically() if function is None else self._by_hand(function))

    def find_getrandom(self, function: str | None) -> Target:
        """See `find_getrandom`."""
        exported = self._image.elf.getrandom
        if exported is None:
            raise self._error(f"it exports no getrandom ({' or '.join(GETRANDOM_NAMES)})")
        chacha20 = self.find(function).function
        return replace(self._checked(_from_symbol(exported)), callee=chacha20)

    def _checked(self, found: Function) -> Target:
        """The target of a function that can be read, with its size; raises InputError."""
        self._check_readable(found)
        if not found.size:
            found = replace(
                found,
                size=self._size_of_flow(found.address),
                located=f"{found.located}; its end is that of its control flow",
            )
        target = self._target(found)
        self._check_range(target)
        return target

    def _error(self, reason: str) -> InputError:
        inside = f"{self._image.path[-1]}: " if len(self._image.path) > 1 else ""
        return InputError(self._source, inside + reason)

    def _known_architecture(self) -> Architecture:
        elf = self._image.elf
        byte_order = "little" if elf.little_endian else "big"
        architecture = find_architecture(elf.machine, elf.bits, byte_order, elf.flags)
        if architecture is None:
            supported = ", ".join(known.title for known in ARCHITECTURES)
            place = (elf.machine, elf.bits, byte_order)
            of_abi = any(
                (known.machine, known.bits, known.byte_order) == place for known in ARCHITECTURES
            )
            abi = f", e_flags {elf.flags:#x}" if of_abi else ""
            raise self._error(
                f"machine {elf.machine}, {elf.bits}-bit, {byte_order}-endian{abi} is not supported;"
                f" supported are {supported}"
            )
        return architecture

    def _target(self, function: Function) -> Target:
        elf = self._image.elf
        return Target(
            self._source,
            self._sha256,
            self._image.path,
            self._image.sha256,
            elf.build_id,
            self._architecture,
            tuple(
                CodeSegment(segment.address, segment.data, segment.executable)
                for segment in elf.segments
                if not segment.writable
            ),
            function,
            self._alternatives,
            self._patching_unknown(),
            self._unusable,
            self._image.running,
            elf.relocations,
            tuple(
                section
                for section in elf.sections
                if section.executable and section.name.startswith(_STUBS)
            ),
            linux_version=elf.linux_version,
        )

    def _patching_unknown(self) -> str:
        if self._image.running or self._architecture.patching is not None:
            return ""
        return f"how Linux patches code for {self._architecture.title} is not known here"

    def _automatically(self) -> Function:
        symbols = self._named(SYMBOL)
        return _from_symbol(self._only(SYMBOL, symbols)) if symbols else self._by_what_it_is()

    def _by_hand(self, text: str) -> Function:
        address = _address(text)
        if address is None:
            symbols = self._named(text)
            if not symbols:
                known = {s.name for s in self._image.elf.symbols if s.is_function}
                raise self._error(f"no function {text!r}; functions are {_list(sorted(known))}")
            return _from_symbol(self._only(text, symbols))
        elf = self._image.elf
        named = f"named by hand: {address:#x}"
        descriptor = next((one for one in elf.descriptors if one.address == address), None)
        if descriptor is not None:
            named += f", the descriptor of {descriptor.code:#x}"
            address = descriptor.code
        symbols = [s for s in elf.symbols if s.is_function and s.address == address]
        symbol = max(symbols, key=lambda s: (s.size, s.descriptor is not None), default=None)
        name, size = (symbol.name, symbol.size) if symbol else (f"{address:#x}", 0)
        if descriptor is None and symbol is not None:
            descriptor = symbol.descriptor
        return Function(name, address, size, named, _toc(descriptor))

    def _named(self, name: str) -> list[Symbol]:
        """The symbols of that name in the text, one per address."""
        elf = self._image.elf
        found: dict[int, Symbol] = {}
        for symbol in elf.symbols:
            if symbol.name == name and elf.text_contains(symbol.address):
                known = found.get(symbol.address)
                if known is None or known.size < symbol.size:
                    found[symbol.address] = symbol
        return list(found.values())

    def _only(self, name: str, symbols: Sequence[Symbol]) -> Symbol:
        if len(symbols) > 1:
            places = _list(f"{symbol.address:#x}" for symbol in symbols)
            raise self._error(
                f"several functions {name}, at {places}; choose one with --function 0xADDRESS"
            )
        return symbols[0]

    def _by_what_it_is(self) -> Function:
        getrandom = self._image.elf.getrandom
        if getrandom is None:
            raise self._error(f"no function {SYMBOL}, and no exported getrandom; {BY_HAND}")
        from verify.lift.select import engine_for

        start = self._target(Function(getrandom.name, getrandom.address, 0, ""))
        engine = engine_for(self._architecture, start.code)
        from verify.prove.setting import Variables, entry_machine
        from verify.survey import survey

        names = Variables(self._architecture.bits)

        def machine_at(address: int) -> Machine:
            machine = entry_machine(start, engine, names)
            machine.pc = address
            return machine

        found = survey(engine, machine_at, getrandom.address)
        if not found.candidates:
            unreadable = "".join(f"; {error}" for error in found.unreadable[:1])
            raise self._error(
                f"no symbol {SYMBOL}, and nothing that {getrandom.name} calls builds ChaCha20's"
                f" constants{unreadable}; {BY_HAND}"
            )
        if len(found.candidates) > 1:
            places = _list(f"{candidate.address:#x}" for candidate in found.candidates)
            raise self._error(
                f"several functions that {getrandom.name} calls build ChaCha20's constants,"
                f" at {places}; choose one with --function 0xADDRESS"
            )
        (candidate,) = found.candidates
        return Function(
            f"{candidate.address:#x}",
            candidate.address,
            candidate.size,
            f"reached from {getrandom.name} by the call at {candidate.call:#x} and builds"
            " ChaCha20's constants",
            _toc(getrandom.descriptor),
        )

    def _size_of_flow(self, address: int) -> int:
        """The bytes from `address` to the end of its control flow."""
        from verify.lift.select import engine_for

        target = self._target(Function("", address, 0, ""))
        engine = engine_for(self._architecture, target.code)
        from verify.lift.machine import Unsupported
        from verify.prove.cfg import control_flow

        try:
            return control_flow(engine, address).end - address
        except Unsupported as error:
            raise self._error(f"the function at {address:#x} cannot be read; {error}") from None

    def _check_readable(self, function: Function) -> None:
        elf, address = self._image.elf, function.address
        if not elf.text_contains(address):
            sections = _list(
                f"{section.name} {section.address:#x}..{section.address + section.size:#x}"
                for section in elf.sections
                if section.executable
            )
            raise self._error(f"{address:#x} is outside the text ({sections})")
        if address % self._architecture.instruction_alignment:
            raise self._error(f"no instruction begins at {address:#x}")

    def _check_range(self, target: Target) -> None:
        function = target.function
        start, end = function.address, function.address + function.size
        if not any(
            segment.executable and segment.address <= start and end <= segment.end
            for segment in self._image.elf.segments
            if not segment.writable
        ):
            raise self._error(
                f"{start:#x}..{end:#x} is not wholly in a segment that is executable and"
                " not writable, so the bytes that run need not be those in the file"
            )


def _from_symbol(symbol: Symbol) -> Function:
    located = f"symbol {symbol.name}"
    if symbol.descriptor is not None:
        located += f", whose descriptor is at {symbol.descriptor.address:#x}"
    return Function(symbol.name, symbol.address, symbol.size, located, _toc(symbol.descriptor))


def _toc(descriptor: Descriptor | None) -> int | None:
    return None if descriptor is None else descriptor.toc


def _address(text: str) -> int | None:
    """The number in "0x...", None for a name."""
    try:
        return int(text, 16) if text[:2] in ("0x", "0X") else None
    except ValueError:
        return None


def _list(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return ", ".join(listed[:LISTED]) + more
