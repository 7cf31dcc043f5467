"""Build the project's own binaries with the pinned cross toolchain, bit for bit the same each time.

`python -m binaries.build` writes every binary, and the manifest of each architecture beside its
programs; with `--check` nothing is written, and every built file and manifest is compared with that
in the tree. Architectures named on the command line restrict it to theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from binaries.patches import PatchError, apply
from binaries.products import Product, products

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = "manifest.json"
FUNCTION = "__arch_chacha20_blocks_nostack"


class BuildError(Exception):
    """A build failed; the message is one line."""


def build(product: Product) -> bytes:
    """Compile and link one product in a fresh directory; return the bytes of the file.

    Raises BuildError when the toolchain refuses, PatchError when a fault does not fit its program.
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        for name in product.inputs:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
        if product.fault is not None:
            source = tree / product.fault.source
            source.write_text(apply(product.fault, source.read_text()))
        output = tree / product.path
        output.parent.mkdir(parents=True, exist_ok=True)
        cache = str(tree / "cache")
        run = subprocess.run(
            (sys.executable, *product.command[1:]),
            cwd=tree,
            env=os.environ | {"ZIG_LOCAL_CACHE_DIR": cache, "ZIG_GLOBAL_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0 or not output.exists():
            reason = (run.stderr.strip() or f"exit status {run.returncode}").splitlines()[0]
            raise BuildError(f"{product.path}: {reason}")
        return with_flags(output.read_bytes(), product.e_flags)


def with_flags(data: bytes, e_flags: int | None) -> bytes:
    """The ELF file with another e_flags in its header; the same if that is None.

    The linker knows only one of the ABIs that e_flags tells apart.
    """
    if e_flags is None:
        return data
    elf = ELFFile(io.BytesIO(data))
    header = elf.header
    header.e_flags = e_flags
    packed: bytes = elf.structs.Elf_Ehdr.build(header)
    return packed + data[len(packed) :]


def build_all(wanted: Iterable[Product]) -> dict[str, bytes]:
    """Build the products; the result maps their paths to the bytes of the files."""
    wanted = tuple(wanted)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = pool.map(build, wanted)
        return {product.path: data for product, data in zip(wanted, built, strict=True)}


def function_range(data: bytes) -> tuple[int, int] | None:
    """Address and size in bytes of the ChaCha20 function, or None without its symbol."""
    table = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return None
    # Where functions have descriptors, the name with a dot is that of the code.
    for name in (f".{FUNCTION}", FUNCTION):
        if symbols := table.get_symbol_by_name(name):
            return symbols[0]["st_value"], symbols[0]["st_size"]
    return None


def manifest(wanted: Iterable[Product], files: Mapping[str, bytes]) -> str:
    """The manifest of the built files as JSON text; addresses are those of the ELF file."""
    entries = []
    for product in wanted:
        data = files[product.path]
        entry: dict[str, Any] = {
            "path": product.path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
            "architecture": product.architecture,
            "sources": list(product.inputs),
            "command": list(product.command),
            **({"e_flags": product.e_flags} if product.e_flags is not None else {}),
            "description": product.description,
        }
        place = function_range(files[product.unstripped]) if product.unstripped else None
        if place is not None:
            address, size = place
            entry["function"] = {"name": FUNCTION, "address": address, "size": size}
        if product.fault is not None:
            entry["fault"] = {
                "name": product.fault.name,
                "base": product.fault.base,
                "refuted_by": list(product.fault.refuted_by),
                "description": product.fault.description,
            }
        entries.append(entry)
    tool = {"name": "ziglang", "version": importlib.metadata.version("ziglang")}
    return json.dumps({"tool": tool, "files": entries}, indent=1) + "\n"


def differences(files: Mapping[str, bytes]) -> list[str]:
    """One line for each file that is missing in the tree or differs from the built one."""
    found = []
    for name, data in files.items():
        path = ROOT / name
        if not path.exists():
            found.append(f"{name}: missing; run `make binaries`")
        elif path.read_bytes() != data:
            found.append(f"{name}: differs from what its sources build")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Build, then write or check; the exit status is 0, or 1 on a difference or a failure."""
    parser = argparse.ArgumentParser(prog="python -m binaries.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("architecture", nargs="*", help="only these; all if none is given")
    parsed = parser.parse_args(arguments)
    check, chosen = parsed.check, parsed.architecture
    try:
        wanted = products(ROOT)
        known = {product.architecture for product in wanted}
        if unknown := set(chosen) - known:
            parser.error(f"no architecture {min(unknown)}; there are {', '.join(sorted(known))}")
        wanted = tuple(one for one in wanted if not chosen or one.architecture in chosen)
        files = build_all(wanted)
    except (BuildError, PatchError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for name in {product.architecture: None for product in wanted}:
        mine = [product for product in wanted if product.architecture == name]
        files[f"binaries/{name}/{MANIFEST}"] = manifest(mine, files).encode()
    if check:
        wrong = differences(files)
        sys.stderr.writelines(f"{line}\n" for line in wrong)
        return 1 if wrong else 0
    for name, data in files.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_bytes(data)
    for product in wanted:
        (ROOT / product.path).chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())
