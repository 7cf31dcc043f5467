"""PowerPC 64, big-endian, ELFv2: the ABI of musl's distributions."""

from verify.arch.powerpc_64bit import powerpc_64bit

POWERPC64ELFV2 = powerpc_64bit("powerpc64elfv2", "PowerPC 64-bit big-endian, ELFv2", "big", 2)
