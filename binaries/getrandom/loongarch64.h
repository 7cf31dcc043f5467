/* LoongArch: a system call takes its number in a7 and arguments from a0 on, returns in a0, and leaves
   t0 to t8 undefined (Linux Documentation/arch/loongarch/introduction.rst; errors are negative). */
#define NAME __vdso_getrandom
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#define SYS_GETRANDOM 278

INLINE long system_call(void *buffer, word len, u32 flags)
{
	register long number __asm__("$a7") = SYS_GETRANDOM;
	register word first __asm__("$a0") = (word)buffer;
	register word second __asm__("$a1") = len;
	register word third __asm__("$a2") = flags;

	__asm__ volatile("syscall 0"
			 : "+r"(first)
			 : "r"(number), "r"(second), "r"(third)
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	return (long)first;
}
