/* AArch64, in either byte order: system call numbers and signal frame of Linux, and the order of
   the registers. */
#define SYS_READ 63
#define SYS_WRITE 64
#define SYS_EXIT_GROUP 94
#define SYS_SETITIMER 103
#define SYS_SIGALTSTACK 132
#define SYS_RT_SIGACTION 134
#define SYS_RT_SIGRETURN 139
#define SYS_MUNMAP 215
#define SYS_MMAP 222
#define SYS_MPROTECT 226

/* x0..x30, sp, pc, nzcv */
#define GENERAL_WORDS 34
/* v0..v31, each a number of 128 bits, fpcr, fpsr, tpidr_el0 */
#define FLOATING_WORDS 67

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define SA_RESTORER 0x04000000UL
void signal_restorer(void);

/* brk #0, as it is stored: instructions are little-endian in either byte order */
#ifdef __AARCH64EB__
#define TRAP_INSTRUCTION 0x000020d4
#else
#define TRAP_INSTRUCTION 0xd4200000
#endif
#define TRAP_SIGNAL SIGTRAP

/* Offset of general register word i in the ucontext of a signal frame, which has them in order. */
#define PLACE(i) (184 + 8 * (i))
#define PC 32
#endif
