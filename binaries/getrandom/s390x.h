/* s390x: a system call takes its number in r1 (or in the instruction) and arguments from r2 on, and
   returns in r2, an error as a negative number; it keeps all other registers. */
#define NAME __kernel_getrandom
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#define SYS_GETRANDOM 349

INLINE long system_call(void *buffer, word len, u32 flags)
{
	register long number __asm__("r1") = SYS_GETRANDOM;
	register word first __asm__("r2") = (word)buffer;
	register word second __asm__("r3") = len;
	register word third __asm__("r4") = flags;

	__asm__ volatile("svc 0"
			 : "+d"(first)
			 : "d"(number), "d"(second), "d"(third)
			 : "memory");
	return (long)first;
}
