"""What PowerPC's getrandoms depend on, the same for all its ABIs.

Debian's kernels have pages of 4 KiB; others have 64 KiB. The data page: `enum vdso_pages` of Linux
`include/vdso/datapage.h`. Barriers: Power ISA 3.1, book II, sections 4.6.1 (`isync`) and 4.6.3
(`sync`; L is bits 9 and 10). A caller extends an unsigned int by zeros: "64-Bit ELF V2 ABI
Specification: Power Architecture", section 2.2.3.3, and "64-bit PowerPC ELF Application Binary
Interface Supplement 1.9", section 3.2.3.
"""

from dataclasses import replace

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.kerneldata import CLOCK_MODE, SharedPages

GETRANDOM = GetrandomPort(
    page_bytes=0x1000,
    data_page=0x2000,
    barriers=((0xFF9F_FFFF, 0x7C00_04AC), (0xFFFF_FFFF, 0x4C00_012C)),
    extends="zero",
)

GETRANDOM_64 = replace(
    GETRANDOM, shared=(SharedPages((6, 12), (6, 12), 2, 1, 248 + CLOCK_MODE, 728),)
)
"""Where there are 64 bits. `struct vdso_arch_data` of Linux 6.12, `arch/powerpc/include/asm/
vdso_datapage.h`: 248 bytes, with maps of 463 system calls, and two clocks of 240 bytes each."""
