/* LoongArch: system call numbers and signal frame of Linux, and the order of the registers. */
#define SYS_READ 63
#define SYS_WRITE 64
#define SYS_EXIT_GROUP 94
#define SYS_SETITIMER 103
#define SYS_SIGALTSTACK 132
#define SYS_RT_SIGACTION 134
#define SYS_MUNMAP 215
#define SYS_MMAP 222
#define SYS_MPROTECT 226

/* r0..r31, pc */
#define GENERAL_WORDS 33
/* vr0..vr31 (two words each, the lower one is f0..f31), fcc0..fcc7 (one byte each), fcsr0 */
#define FLOATING_WORDS 66
#define CONDITIONS 512
#define CONTROL 520

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	unsigned long mask;
};

#define TRAP_INSTRUCTION 0x002a0000 /* break 0 */
#define TRAP_SIGNAL SIGTRAP

/* Offset of general register word i in the ucontext of a signal frame: sc_pc, then sc_regs. */
#define PLACE(i) ((i) < 32 ? 184 + 8 * (i) : 176)
#define PC 32
#endif
