/* x86-64: a system call takes its number in rax and arguments in rdi, rsi, rdx, returns in rax, an
   error as a negative number, and destroys rcx and r11 (System V ABI, AMD64 supplement, A.2.1). */
#define NAME __vdso_getrandom
#define CHACHA20 "__arch_chacha20_blocks_nostack"
#define SYS_GETRANDOM 318

INLINE long system_call(void *buffer, word len, u32 flags)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_GETRANDOM), "D"(buffer), "S"(len), "d"((word)flags)
			 : "rcx", "r11", "memory");
	return result;
}
