"""PowerPC 64, big-endian, ELFv1: the ABI of Debian's ppc64 and of most distributions."""

from verify.arch.powerpc_64bit import powerpc_64bit

POWERPC64 = powerpc_64bit("powerpc64", "PowerPC 64-bit big-endian, ELFv1", "big", 1)
