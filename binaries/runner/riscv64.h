/* RISC-V: system call numbers and signal frame of Linux, and the order of the registers. */
#define SYS_READ 63
#define SYS_WRITE 64
#define SYS_EXIT_GROUP 94
#define SYS_SETITIMER 103
#define SYS_SIGALTSTACK 132
#define SYS_RT_SIGACTION 134
#define SYS_MUNMAP 215
#define SYS_MMAP 222
#define SYS_MPROTECT 226

/* pc, x1..x31 */
#define GENERAL_WORDS 32
/* f0..f31, fcsr */
#define FLOATING_WORDS 33

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	unsigned long mask;
};

#define TRAP_INSTRUCTION 0x00100073 /* ebreak */
#define TRAP_SIGNAL SIGTRAP

/* Offset of general register word i in the ucontext of a signal frame, which has them in order. */
#define PLACE(i) (176 + 8 * (i))
#define PC 0
#endif
