"""What is built: the list of files, with the sources and the command line of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binaries.patches import Fault, load

if TYPE_CHECKING:
    from pathlib import Path

LINKER_SCRIPT = "binaries/vdso.lds"
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

RUNNER_LINKER_SCRIPT = "binaries/runner/runner.lds"
RUNNER_FLAGS = (
    "-static",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-pic",
    "-fno-pie",
    "-no-pie",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-O2",
    "-g0",
    "-Wall",
    "-Wextra",
    "-Werror",
    f"-Wl,-T,{RUNNER_LINKER_SCRIPT}",
    "-Wl,--build-id=none",
    "-Wl,-z,norelro",
    "-Wl,-z,max-page-size=4096",
    *STRIP_FLAGS,
)
# The C part leaves the registers alone that only the assembly sets and reads, and finds its data
# wherever it is linked.
RUNNER_CODE = {
    "loongarch64": ("-mno-lsx", "-mno-lasx"),
    "powerpc64le": ("-mno-altivec", "-mno-vsx", "-mno-power8-vector", "-mno-direct-move"),
    "riscv64": ("-mno-implicit-float", "-mcmodel=medany"),
    "x86_64": ("-mgeneral-regs-only", "-fPIC"),
}

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
    "riscv64/looped": (
        "double-round loop, four quarter rounds side by side, rotates of Zbb; key kept in "
        "registers; 64-bit counter; blocks counted down; frame holds callee-saved registers and "
        "the counter pointer"
    ),
    "riscv64/unrolled": (
        "twenty rounds written out, rotates by two shifts; key read again for the feed-forward; "
        "counter words updated in memory after each block; pointers compared at the loop head; "
        "frame"
    ),
    "x86_64/looped": (
        "double-round loop, the state as four SSE2 rows; key kept in registers; 64-bit counter in "
        "a vector register; blocks counted down; no stack"
    ),
    "x86_64/unrolled": (
        "twenty rounds written out, the state as four SSE2 rows; key read again for the "
        "feed-forward; counter words updated in memory with carry; pointers compared at the loop "
        "head; one push"
    ),
}


@dataclass(frozen=True)
class Product:
    """One file to build. All paths are relative to the top of the repository.

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
        """The command line, run at the top of the repository or of a tree with the same inputs."""
        target = ("-target", f"{self.architecture}-linux-gnu")
        zig = ("python", "-m", "ziglang", "cc")
        return (*zig, *target, *self.flags, "-o", self.path, *self.sources)


def shared_object(
    program: str, path: str, *, strip: bool = False, fault: Fault | None = None
) -> Product:
    """The vDSO-like shared object at `path` with the program's code, say loongarch64/looped."""
    architecture = program.split("/", maxsplit=1)[0]
    sources = (f"binaries/{architecture}/getrandom.S", f"binaries/{program}.S")
    return Product(
        path=path,
        architecture=architecture,
        sources=sources,
        inputs=(*sources, LINKER_SCRIPT),
        flags=(*SHARED_FLAGS, *(STRIP_FLAGS if strip else ())),
        description=STYLES[program],
        unstripped=f"binaries/{program}.so" if strip else path,
        fault=fault,
    )


def runner(architecture: str) -> Product:
    """The program that runs code under QEMU; the package verify.qemu carries it."""
    sources = ("binaries/runner/runner.c", f"binaries/runner/{architecture}.S")
    header = f"{architecture}.h"
    return Product(
        path=f"verify/qemu/runners/{architecture}",
        architecture=architecture,
        sources=sources,
        inputs=(*sources, f"binaries/runner/{header}", RUNNER_LINKER_SCRIPT),
        flags=(*RUNNER_FLAGS, *RUNNER_CODE[architecture], f'-DHEADER="{header}"'),
        description="runs code from a given state and reports the state in which it stops",
    )


def products(root: Path) -> tuple[Product, ...]:
    """Every file to build, in the order of the manifest; `root` is the top of the repository."""
    found = []
    for program in STYLES:
        path = f"binaries/{program}"
        found.append(shared_object(program, f"{path}.so"))
        found.append(shared_object(program, f"{path}.stripped.so", strip=True))
    found += [
        shared_object(fault.program, fault.path, fault=fault)
        for fault in load(root / "binaries" / "faults.toml")
    ]
    found += [runner(architecture) for architecture in RUNNER_CODE]
    return tuple(found)
