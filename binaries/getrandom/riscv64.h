/* RISC-V: a system call takes its number in a7 and arguments from a0 on, and returns in a0, an error
   as a negative number; it keeps all other registers. */
#define NAME __vdso_getrandom
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#define SYS_GETRANDOM 278

INLINE long system_call(void *buffer, word len, u32 flags)
{
	register long number __asm__("a7") = SYS_GETRANDOM;
	register word first __asm__("a0") = (word)buffer;
	register word second __asm__("a1") = len;
	register word third __asm__("a2") = flags;

	__asm__ volatile("ecall"
			 : "+r"(first)
			 : "r"(number), "r"(second), "r"(third)
			 : "memory");
	return (long)first;
}
