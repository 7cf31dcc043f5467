"""Where a process finds the kernel's data for getrandom: generation at 0 (64 bits), is_ready at 8
(8 bits).

Since Linux 6.15 they have a page of their own (`include/vdso/datapage.h`). Before, they lie on the
data page that is shared for the time, behind what is there for that. A process inside a time
namespace finds in its place the page of the namespace, on which clock_mode says so, and where the
generator's data would be there is nothing; the data page is behind it then, in the place that the
namespace's has otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

INSIDE = 0x7FFF_FFFF
"""clock_mode on the page of a time namespace, and on no other (VDSO_CLOCKMODE_TIMENS, Linux
`include/vdso/clocksource.h`)."""
CLOCK_MODE, CLOCK_MODE_BYTES = 4, 4
"""Offset in `struct vdso_data` (Linux `include/vdso/datapage.h`), and size."""

type Release = tuple[int, int]
"""The first two numbers of a version of Linux."""


@dataclass(frozen=True)
class TimeNamespace:
    """What is elsewhere inside a time namespace, in bytes in front of the image: `clock_mode` lies
    in one place in any case, the generator's data at `data_page` inside one."""

    clock_mode: int
    data_page: int


@dataclass(frozen=True)
class Layout:
    """Where the code runs: bytes of a page, how many bytes in front of the image the generator's
    data lie, and where they lie inside a time namespace, None where that is the same."""

    page_bytes: int
    data_page: int
    namespace: TimeNamespace | None = None


@dataclass(frozen=True)
class SharedPages:
    """Where the kernels from `first` to `last` have the data on the page for the time.

    That lies `pages` pages in front of the image, and the one that it is on inside a time namespace
    `inside` pages. `clock_mode` and `generator` are offsets in either, in bytes.
    """

    first: Release
    last: Release
    pages: int
    inside: int
    clock_mode: int
    generator: int

    def layout(self, page_bytes: int) -> Layout:
        """The layout with pages of that size."""
        start = self.pages * page_bytes
        inside = self.inside * page_bytes - self.generator
        namespace = TimeNamespace(start - self.clock_mode, inside)
        return Layout(page_bytes, start - self.generator, namespace)
