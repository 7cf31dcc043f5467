/* x86-64: system call numbers and signal frame of Linux, and the order of the registers. */
#define SYS_READ 0
#define SYS_WRITE 1
#define SYS_EXIT_GROUP 231
#define SYS_SETITIMER 38
#define SYS_SIGALTSTACK 131
#define SYS_RT_SIGACTION 13
#define SYS_RT_SIGRETURN 15
#define SYS_MUNMAP 11
#define SYS_MMAP 9
#define SYS_MPROTECT 10

/* r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags */
#define GENERAL_WORDS 18
/* xmm0..xmm15, each a little-endian number of 128 bits */
#define FLOATING_WORDS 32

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define SA_RESTORER 0x04000000UL
void signal_restorer(void);

/* ud2, which leaves the program counter where it is; int3 does not */
#define TRAP_INSTRUCTION 0x90900b0f
#define TRAP_SIGNAL SIGILL

/* Offset of general register word i in the ucontext of a signal frame, which has them in order. */
#define PLACE(i) (40 + 8 * (i))
#define PC 16
#endif
