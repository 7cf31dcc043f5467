/* PowerPC, 32 and 64 bits: a system call takes its number in r0 and arguments from r3 on, and returns
   in r3; an error is a positive number there, and told by the summary overflow bit of CR0. r4 to r12,
   CTR, XER and CR0 are left undefined (Linux Documentation/arch/powerpc/syscall64-abi.rst). */
#define ENTRY fill_with_random
#define SYS_GETRANDOM 359

#if defined(ELF_VERSION) && ELF_VERSION == 1
/* The compiler makes frames of ELFv2 here; powerpc.S has one of ELFv1 around the call. */
#define CHACHA20 "chacha20_in_frame"
#else
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#endif

INLINE long system_call(void *buffer, word len, u32 flags)
{
	register long number __asm__("r0") = SYS_GETRANDOM;
	register word first __asm__("r3") = (word)buffer;
	register word second __asm__("r4") = len;
	register word third __asm__("r5") = flags;

	__asm__ volatile("sc\n\t"
			 "bns+	1f\n\t"
			 "neg	%1, %1\n"
			 "1:"
			 : "+r"(number), "+r"(first), "+r"(second), "+r"(third)
			 :
			 : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "xer", "cr0", "memory");
	return (long)first;
}
