"""A target: the bytes that are proved, where they came from, and their architecture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from verify.arch import Architecture


@dataclass(frozen=True)
class CodeSegment:
    """Consecutive read-only bytes of the image at their virtual address."""

    address: int
    data: bytes
    executable: bool


@dataclass(frozen=True)
class Function:
    """The function under proof. `located` says how it was found, in words."""

    name: str
    address: int
    size: int
    located: str


@dataclass(frozen=True)
class Target:
    """One function in one image.

    `source` is the file as the user named it, `sha256` that file's hash; `path` tells how the
    image was reached inside it, `image_sha256` is the image's own hash.
    """

    source: str
    sha256: str
    path: tuple[str, ...]
    image_sha256: str
    build_id: str
    architecture: Architecture
    segments: tuple[CodeSegment, ...]
    function: Function

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
            function=replace(self.function, address=self.function.address + by),
        )

    @property
    def function_bytes(self) -> bytes:
        """The bytes of the function's range."""
        return self.code(self.function.address, self.function.size) or b""

    @property
    def function_sha256(self) -> str:
        """SHA-256 of the bytes of the function's range, in hexadecimal."""
        return hashlib.sha256(self.function_bytes).hexdigest()
