"""A target: the bytes that are proved, where they came from, and their architecture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from verify.arch import Architecture
from verify.arch.patching import Condition
from verify.image import Relocation, Section
from verify.verdict import AS_BUILT


@dataclass(frozen=True)
class CodeSegment:
    """Consecutive read-only bytes of the image at their virtual address."""

    address: int
    data: bytes
    executable: bool

    def patched(self, alternative: Alternative) -> CodeSegment:
        """The segment with an alternative applied, if that lies in it."""
        at = alternative.address - self.address
        size = len(alternative.code)
        if not 0 <= at <= len(self.data) - size:
            return self
        return replace(self, data=self.data[:at] + alternative.code + self.data[at + size :])


@dataclass(frozen=True)
class Function:
    """The function under proof. `located` says how it was found, in words; `toc` is the address in
    the image that its caller puts into the architecture's register for it, None if not known."""

    name: str
    address: int
    size: int
    located: str
    toc: int | None = None

    def moved(self, by: int) -> Function:
        """The same in an image mapped `by` bytes further up."""
        toc = None if self.toc is None else self.toc + by
        return replace(self, address=self.address + by, toc=toc)


@dataclass(frozen=True)
class Alternative:
    """Code that the kernel writes to an address of the image when it boots, on a condition.

    `code` is all of it, filled up with nops. `refused` says why it cannot be written as the kernel
    would; empty if it can.
    """

    address: int
    code: bytes
    condition: Condition
    refused: str = ""

    @property
    def end(self) -> int:
        """The first address behind the code."""
        return self.address + len(self.code)

    def moved(self, by: int) -> Alternative:
        """The same in an image mapped `by` bytes further up."""
        return replace(self, address=self.address + by)

    def overlaps(self, address: int, size: int) -> bool:
        """Whether it changes one of `size` bytes at an address."""
        return address < self.end and self.address < address + size


@dataclass(frozen=True)
class Variant:
    """The image as it is after the kernel has applied some alternatives, in their order."""

    applied: tuple[Alternative, ...]

    @property
    def name(self) -> str:
        """The conditions of what was applied, in words."""
        conditions = dict.fromkeys(str(one.condition) for one in self.applied)
        return ", ".join(conditions) or AS_BUILT


@dataclass(frozen=True)
class Target:
    """One function in one image.

    `source` is the file as the user named it, `sha256` that file's hash; `path` tells how the
    image was reached inside it, `image_sha256` is the image's own hash.

    `alternatives` are all of the image's, in the order in which the kernel applies them.
    `patching_unknown` says why they need not be all that the kernel changes, `unusable` why nothing
    can be said of the bytes that run; both are empty otherwise. `running` says that the kernel has
    already applied them. `relocations` of loaded bytes are not resolved, and `stubs` are the
    sections in which code goes on to another image through an address that is filled in later.
    `callee` is the ChaCha20 that the function calls where that is a getrandom, else None.
    `left_out` are the alternatives that a variant lacks and others have. `linux_version` is that of
    the kernel whose vDSO it is, by its own note.
    """

    source: str
    sha256: str
    path: tuple[str, ...]
    image_sha256: str
    build_id: str
    architecture: Architecture
    segments: tuple[CodeSegment, ...]
    function: Function
    alternatives: tuple[Alternative, ...] = ()
    patching_unknown: str = ""
    unusable: str = ""
    running: bool = False
    relocations: tuple[Relocation, ...] = ()
    stubs: tuple[Section, ...] = ()
    callee: Function | None = None
    left_out: tuple[Alternative, ...] = ()
    linux_version: tuple[int, int, int] | None = None

    def code(self, address: int, size: int) -> bytes | None:
        """`size` read-only bytes at `address`, None where the image has none."""
        for segment in self.segments:
            offset = address - segment.address
            if offset >= 0 and offset + size <= len(segment.data):
                return segment.data[offset : offset + size]
        return None

    def instruction_size(self, address: int) -> int:
        """The length in bytes of the instruction at an address in the image."""
        architecture = self.architecture
        for size in range(architecture.instruction_bytes, 0, -architecture.instruction_alignment):
            code = self.code(address, size)
            if code is not None:
                return architecture.instruction_length(code)
        return architecture.instruction_alignment

    def moved(self, by: int) -> Target:
        """The same image mapped `by` bytes further up."""
        return replace(
            self,
            segments=tuple(replace(part, address=part.address + by) for part in self.segments),
            function=self.function.moved(by),
            callee=None if self.callee is None else self.callee.moved(by),
            alternatives=tuple(one.moved(by) for one in self.alternatives),
            left_out=tuple(one.moved(by) for one in self.left_out),
            relocations=tuple(replace(one, address=one.address + by) for one in self.relocations),
            stubs=tuple(replace(one, address=one.address + by) for one in self.stubs),
        )

    def patched(self, variant: Variant) -> Target:
        """The same image with the alternatives of a variant applied, and none left to apply."""
        segments = self.segments
        for one in variant.applied:
            segments = tuple(segment.patched(one) for segment in segments)
        left_out = tuple(one for one in self.alternatives if one not in variant.applied)
        return replace(self, segments=segments, alternatives=(), left_out=left_out)

    @property
    def called(self) -> Target:
        """The same image with the ChaCha20 under proof that its getrandom calls."""
        assert self.callee is not None
        return replace(self, function=self.callee, callee=None)

    @property
    def function_bytes(self) -> bytes:
        """The bytes of the function's range."""
        return self.code(self.function.address, self.function.size) or b""

    @property
    def function_sha256(self) -> str:
        """SHA-256 of the bytes of the function's range, in hexadecimal."""
        return hashlib.sha256(self.function_bytes).hexdigest()
