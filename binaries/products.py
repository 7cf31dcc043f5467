"""What is built: the list of files, with the sources and the command line of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binaries.patches import Fault, load

if TYPE_CHECKING:
    from pathlib import Path

LINKER_SCRIPT = "vdso.lds"
SHARED_FLAGS = (
    "-shared",
    "-nostdlib",
    "-g0",
    f"-Wl,-T,{LINKER_SCRIPT}",
    "-Wl,-soname,linux-vdso.so.1",
    "-Wl,--hash-style=both",
    "-Wl,--build-id=sha1",
    "-Wl,--no-undefined",
    "-Wl,-z,norelro",
    "-Wl,-z,max-page-size=4096",
)
STRIP_FLAGS = ("-s",)

STYLES = {
    "loongarch64/looped": (
        "double-round loop, four quarter rounds side by side; key kept in registers; 64-bit "
        "counter; blocks counted down; frame holds callee-saved registers and the counter pointer"
    ),
    "loongarch64/unrolled": (
        "twenty rounds written out; key read again for the feed-forward; counter words updated in "
        "memory after each block; pointers compared at the loop head; frame"
    ),
    "powerpc64le/looped": (
        "double-round loop on the count register, four quarter rounds side by side; key kept in "
        "registers; 64-bit counter; blocks counted down; red zone, stack pointer never moved"
    ),
    "powerpc64le/unrolled": (
        "twenty rounds written out; key read again for the feed-forward; counter words joined by "
        "the carry bit; pointers compared at the loop head; frame with back chain"
    ),
}


@dataclass(frozen=True)
class Product:
    """One file to build. All paths are relative to binaries/.

    `sources` are compiled, `inputs` are all files read; `unstripped` names the product with the
    same code and a symbol table, for files that hold the ChaCha20 function.
    """

    path: str
    architecture: str
    sources: tuple[str, ...]
    inputs: tuple[str, ...]
    flags: tuple[str, ...]
    description: str
    unstripped: str | None = None
    fault: Fault | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, run in binaries/ or in a directory with the same inputs."""
        target = ("-target", f"{self.architecture}-linux-gnu")
        zig = ("python", "-m", "ziglang", "cc")
        return (*zig, *target, *self.flags, "-o", self.path, *self.sources)


def shared_object(
    program: str, path: str, *, strip: bool = False, fault: Fault | None = None
) -> Product:
    """The vDSO-like shared object at `path` with the program's code, say loongarch64/looped."""
    architecture = program.split("/", maxsplit=1)[0]
    sources = (f"{architecture}/getrandom.S", f"{program}.S")
    return Product(
        path=path,
        architecture=architecture,
        sources=sources,
        inputs=(*sources, LINKER_SCRIPT),
        flags=(*SHARED_FLAGS, *(STRIP_FLAGS if strip else ())),
        description=STYLES[program],
        unstripped=f"{program}.so" if strip else path,
        fault=fault,
    )


def products(root: Path) -> tuple[Product, ...]:
    """Every file to build, in the order of the manifest; `root` is the directory binaries/."""
    found = []
    for program in STYLES:
        found.append(shared_object(program, f"{program}.so"))
        found.append(shared_object(program, f"{program}.stripped.so", strip=True))
    for fault in load(root / "faults"):
        program = f"{fault.architecture}/{fault.base}"
        path = f"faults/{fault.architecture}/{fault.name}.so"
        found.append(shared_object(program, path, fault=fault))
    return tuple(found)
