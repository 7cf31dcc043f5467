"""PowerPC 64, little-endian, ELFv2."""

from verify.arch.powerpc_64bit import powerpc_64bit

POWERPC64LE = powerpc_64bit("powerpc64le", "PowerPC 64-bit little-endian", "little", 2)
