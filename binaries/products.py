"""What is built: the list of files, with the sources and the command line of each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binaries.patches import (
    BUILD,
    GETRANDOM,
    GETRANDOM_SOURCE,
    Fault,
    header_of,
    load,
    load_getrandom,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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

COMPLETED = "looped"
"""The program that the complete getrandom calls."""

C_FLAGS = (
    "-ffreestanding",
    "-fno-builtin",
    "-fPIC",
    "-fno-jump-tables",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-fomit-frame-pointer",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wl,--no-gc-sections",
)
"""Of the shared objects that are compiled from C: nothing that would need a library or data, and
what is not referred to is linked too, as from assembly."""

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


@dataclass(frozen=True)
class Layout:
    """Sizes in bytes: of a page, and from the kernel's data page up to the start of the image.

    Where the data are shared with those for the time, `clock_mode` lies so many bytes in front of
    the image, and inside a time namespace the data do `inside`; `version` is the LINUX_VERSION_CODE
    of a kernel that has them so.
    """

    page_size: int
    data_page: int
    clock_mode: int | None = None
    inside: int = 0
    version: int = 0

    @property
    def defined(self) -> tuple[str, ...]:
        """What the compiler is told."""
        always = (f"-DPAGE_SIZE={self.page_size:#x}", f"-DRNG_DATA={self.data_page:#x}")
        if self.clock_mode is None:
            return always
        return (
            *always,
            f"-DCLOCK_MODE={self.clock_mode:#x}",
            f"-DRNG_DATA_INSIDE={self.inside:#x}",
            f"-DLINUX_VERSION={self.version:#x}",
        )


@dataclass(frozen=True)
class Getrandom:
    """How the complete getrandom of an architecture is built, from C and its `looped` program.

    `programs` maps the name of each program to where it expects what. `header` is the header that
    makes system calls, in binaries/getrandom, and `entry` the assembly there that is exported
    (empty where the C function is); `entry_header` is what that includes, relative to the top of
    the repository. `flags` are added for the compiler, which keep it from registers that only
    assembly uses.
    """

    programs: Mapping[str, Layout]
    header: str
    entry: str
    entry_header: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """How the binaries of one architecture are built: binaries/<architecture>/build.toml.

    `target` is the toolchain's name of the architecture, `flags` are added for every shared
    object, `runner` for the runner (None where there is none). `programs` maps the name of each
    program to the description of its style. `sources` and `runner_sources` are the architectures
    under whose names the sources of the programs, with their `headers`, and of the runner are kept.
    `e_flags` is written into the header of every shared object; None leaves it as it is linked.
    `getrandom` is the complete function around ChaCha20.
    """

    architecture: str
    target: str
    programs: Mapping[str, str]
    flags: tuple[str, ...] = ()
    runner: tuple[str, ...] | None = None
    sources: str = ""
    runner_sources: str = ""
    e_flags: int | None = None
    headers: tuple[str, ...] = ()
    getrandom: Getrandom | None = None

    @property
    def directory(self) -> str:
        """Where the sources of the programs are, relative to the top of the repository."""
        return f"binaries/{self.sources or self.architecture}"


def _getrandom(entry: Mapping[str, Any], sources: str) -> Getrandom:
    return Getrandom(
        {name: Layout(**layout) for name, layout in entry["programs"].items()},
        header_of(entry, sources),
        entry.get("entry", ""),
        entry.get("entry_header", ""),
        tuple(entry["flags"]),
    )


def load_builds(binaries: Path) -> dict[str, Build]:
    """The builds below the directory, by architecture."""
    found = {}
    for path in sorted(binaries.glob(f"*/{BUILD}")):
        entry = tomllib.loads(path.read_text())
        sources = entry.get("sources", path.parent.name)
        headers = (binaries / sources).glob("*.h")
        found[path.parent.name] = Build(
            path.parent.name,
            entry["target"],
            entry["programs"],
            tuple(entry.get("flags", ())),
            tuple(entry["runner"]) if "runner" in entry else None,
            entry.get("sources", ""),
            entry.get("runner_sources", ""),
            entry.get("e_flags"),
            tuple(f"binaries/{sources}/{header.name}" for header in sorted(headers)),
            _getrandom(entry[GETRANDOM], sources) if GETRANDOM in entry else None,
        )
    return found


@dataclass(frozen=True)
class Product:
    """One file to build. All paths are relative to the top of the repository.

    `sources` are compiled, `inputs` are all files read; `unstripped` names the product with the
    same code and a symbol table, for files that hold the ChaCha20 function. `e_flags` is written
    into the header of the file that was linked, unless it is None.
    """

    path: str
    build: Build
    sources: tuple[str, ...]
    inputs: tuple[str, ...]
    flags: tuple[str, ...]
    description: str
    unstripped: str | None = None
    fault: Fault | None = None
    e_flags: int | None = None

    @property
    def architecture(self) -> str:
        """The harness's name of the architecture."""
        return self.build.architecture

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, run at the top of the repository or of a tree with the same inputs."""
        target = ("-target", self.build.target)
        zig = ("python", "-m", "ziglang", "cc")
        return (*zig, *target, *self.flags, "-o", self.path, *self.sources)


def shared_object(
    build: Build, name: str, path: str, *, strip: bool = False, fault: Fault | None = None
) -> Product:
    """The vDSO-like shared object at `path` with the code of the program of that name."""
    sources = (f"{build.directory}/getrandom.S", f"{build.directory}/{name}.S")
    return Product(
        path=path,
        build=build,
        sources=sources,
        inputs=(*sources, *build.headers, LINKER_SCRIPT),
        flags=(*SHARED_FLAGS, *build.flags, *(STRIP_FLAGS if strip else ())),
        description=build.programs[name],
        unstripped=f"binaries/{build.architecture}/{name}.so" if strip else path,
        fault=fault,
        e_flags=build.e_flags,
    )


def complete(
    build: Build, getrandom: Getrandom, name: str, path: str, fault: Fault | None = None
) -> Product:
    """The vDSO-like shared object at `path` with the complete getrandom of that name."""
    directory = f"binaries/{GETRANDOM}"
    layout = getrandom.programs[name]
    entry = (f"{directory}/{getrandom.entry}",) if getrandom.entry else ()
    sources = (f"{directory}/{GETRANDOM_SOURCE}", *entry, f"{build.directory}/{COMPLETED}.S")
    headers = (f"{directory}/{getrandom.header}", getrandom.entry_header, *build.headers)
    defined = (f'-DHEADER="{getrandom.header}"', *layout.defined)
    return Product(
        path=path,
        build=build,
        sources=sources,
        inputs=(*sources, *dict.fromkeys(filter(None, headers)), LINKER_SCRIPT),
        flags=(*SHARED_FLAGS, *C_FLAGS, *getrandom.flags, *build.flags, *defined),
        description=(
            f"the complete getrandom with the {COMPLETED} program, for pages of"
            f" {layout.page_size:#x} bytes and the data page {layout.data_page:#x} bytes in front"
        ),
        unstripped=path,
        fault=fault,
        e_flags=build.e_flags,
    )


def runner(build: Build) -> Product:
    """The program that runs code under QEMU; the package verify.qemu carries it."""
    name = build.runner_sources or build.architecture
    sources = ("binaries/runner/runner.c", f"binaries/runner/{name}.S")
    header = f"{name}.h"
    return Product(
        path=f"verify/qemu/runners/{build.architecture}",
        build=build,
        sources=sources,
        inputs=(*sources, f"binaries/runner/{header}", RUNNER_LINKER_SCRIPT),
        flags=(*RUNNER_FLAGS, *(build.runner or ()), f'-DHEADER="{header}"'),
        description="runs code from a given state and reports the state in which it stops",
    )


def products(root: Path) -> tuple[Product, ...]:
    """Every file to build, by architecture; `root` is the top of the repository."""
    binaries = root / "binaries"
    faults, faults_around = load(binaries), load_getrandom(binaries)
    found = []
    for architecture, build in load_builds(binaries).items():
        for name in build.programs:
            path = f"binaries/{architecture}/{name}"
            found.append(shared_object(build, name, f"{path}.so"))
            found.append(shared_object(build, name, f"{path}.stripped.so", strip=True))
        found += [
            shared_object(build, fault.base, fault.path, fault=fault)
            for fault in faults
            if fault.architecture == architecture
        ]
        if build.getrandom is not None:
            found += _complete(build, build.getrandom, faults_around)
        if build.runner is not None:
            found.append(runner(build))
    return tuple(found)


def _complete(build: Build, getrandom: Getrandom, faults: Iterable[Fault]) -> list[Product]:
    return [
        *(
            complete(build, getrandom, name, f"binaries/{build.architecture}/{name}.so")
            for name in getrandom.programs
        ),
        *(
            complete(build, getrandom, fault.base, fault.path, fault)
            for fault in faults
            if fault.architecture == build.architecture
        ),
    ]
