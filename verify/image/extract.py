"""Writing the images found in a file, with a manifest."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verify.errors import InputError
from verify.image.elf import Image
from verify.image.files import make_directory, replace_files

MANIFEST = "manifest.json"
SUFFIXES = {"shared": ".so", "executable": "", "relocatable": ".o"}


def describe(image: Image) -> dict[str, Any]:
    """Return what the manifest says about one image."""
    return {
        "file": image.name + SUFFIXES[image.elf.kind],
        "size": len(image.data),
        "sha256": image.sha256,
        "source": list(image.path),
        "machine": image.elf.machine,
        "bits": image.elf.bits,
        "byte_order": "little" if image.elf.little_endian else "big",
        "build_id": image.elf.build_id,
    }


def extract_to(images: Sequence[Image], directory: Path) -> dict[str, Any]:
    """Write each image and `MANIFEST` into `directory`, which is made; return the manifest.

    Files of the same name are replaced. Raises `InputError` when something cannot be written, and
    leaves nothing behind then.
    """
    manifest = {"images": [describe(image) for image in images]}
    contents = {
        str(entry["file"]): image.data
        for entry, image in zip(manifest["images"], images, strict=True)
    }
    contents[MANIFEST] = (json.dumps(manifest, indent=2) + "\n").encode()
    new = not directory.exists()
    make_directory(directory)
    try:
        replace_files(directory, contents)
    except InputError:
        if new:
            directory.rmdir()
        raise
    return manifest
