"""Boot images of the Linux kernel: what they are called and where their payload is.

Sources: the kernel's documentation of the x86 boot protocol (setup header), of the arm64 and
RISC-V boot images (magic numbers at 0x38), and its EFI zboot and s390 boot headers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verify.errors import FormatError
from verify.image.compression import COMPRESSIONS, Budget, Buffer, decompress, recognise

# A payload that unpacks to less is a chance match of a magic number, not a kernel.
SMALLEST_KERNEL = 256 * 1024
CANDIDATE_LIMIT = 64

Layer = tuple[str, Buffer]


@dataclass(frozen=True)
class BootImage:
    """A format of boot images.

    `matches` recognises it by content, `payload` yields what is packed inside, each with a
    description; `raw` says that the kernel can also stand in the image as it is.
    """

    name: str
    matches: Callable[[Buffer], bool]
    payload: Callable[[Buffer, Budget], Iterator[Layer]]
    raw: bool


def _number(data: Buffer, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")


def _inside(data: Buffer, start: int, size: int, name: str) -> memoryview:
    if size == 0 or start + size > len(data):
        raise FormatError(f"truncated {name} (its payload lies behind its end)")
    return memoryview(data)[start : start + size]


def _zboot(data: Buffer, budget: Budget) -> Iterator[Layer]:
    """MZ header: "zimg" at 4, payload offset and size at 8 and 12, compression name at 24."""
    payload = _inside(data, _number(data, 8, 4), _number(data, 12, 4), "EFI zboot image")
    declared = bytes(data[24:56]).split(b"\0")[0].decode("ascii", "replace")
    compression = recognise(payload)
    if compression is None:
        raise FormatError(f"EFI zboot image with a damaged or unknown payload ({declared})")
    yield f"EFI zboot ({compression.name})", decompress(compression, payload, budget)


def _bzimage(data: Buffer, budget: Budget) -> Iterator[Layer]:
    """Setup header: sectors at 0x1f1, version at 0x206, payload offset and length at 0x248."""
    if _number(data, 0x206, 2) < 0x208:
        raise FormatError(
            "bzImage with a boot protocol older than 2.08, which has no payload field"
        )
    protected_mode = ((_number(data, 0x1F1, 1) or 4) + 1) * 512
    start = protected_mode + _number(data, 0x248, 4)
    payload = _inside(data, start, _number(data, 0x24C, 4), "bzImage")
    compression = recognise(payload)
    if compression is None:
        yield "bzImage (not compressed)", bytes(payload)
    else:
        yield f"bzImage ({compression.name})", decompress(compression, payload, budget)


def packed_kernels(data: Buffer, budget: Budget) -> Iterator[Layer]:
    """Yield every payload in `data` that a compression's magic number begins and that unpacks."""
    for compression in COMPRESSIONS:
        position = -1
        for _ in range(CANDIDATE_LIMIT):
            position = data.find(compression.magic, position + 1)
            if position < 0:
                break
            try:
                unpacked = decompress(compression, memoryview(data)[position:], budget)
            except FormatError:
                if budget.left < 0:
                    raise
                continue
            if len(unpacked) >= SMALLEST_KERNEL:
                yield f"{compression.name} at {position:#x}", unpacked


def _magic(offset: int, magic: bytes) -> Callable[[Buffer], bool]:
    return lambda data: data[offset : offset + len(magic)] == magic


BOOT_IMAGES = (
    BootImage("EFI zboot image", _magic(4, b"zimg"), _zboot, raw=False),
    BootImage("bzImage", _magic(0x202, b"HdrS"), _bzimage, raw=False),
    BootImage("arm64 Image", _magic(0x38, b"ARM\x64"), packed_kernels, raw=True),
    BootImage("RISC-V Image", _magic(0x38, b"RSC\x05"), packed_kernels, raw=True),
    BootImage("EFI Image", _magic(0x38, b"\xcd\x23\x82\x81"), packed_kernels, raw=True),
    BootImage("s390x image", _magic(0x10008, b"S390EP"), packed_kernels, raw=True),
)


def boot_image(data: Buffer) -> BootImage | None:
    """Return the format of the boot image `data`, or None when it is none."""
    return next((image for image in BOOT_IMAGES if image.matches(data)), None)
