/* AArch64: a system call takes its number in x8 and arguments from x0 on, and returns in x0, an error
   as a negative number; it keeps all other registers. */
#define NAME __kernel_getrandom
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#define SYS_GETRANDOM 278

INLINE long system_call(void *buffer, word len, u32 flags)
{
	register long number __asm__("x8") = SYS_GETRANDOM;
	register word first __asm__("x0") = (word)buffer;
	register word second __asm__("x1") = len;
	register word third __asm__("x2") = flags;

	__asm__ volatile("svc #0"
			 : "+r"(first)
			 : "r"(number), "r"(second), "r"(third)
			 : "memory");
	return (long)first;
}
