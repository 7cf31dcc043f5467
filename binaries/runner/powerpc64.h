/* PowerPC 64: system call numbers and signal frame of Linux, and the order of the registers. */
#define SYS_READ 3
#define SYS_WRITE 4
#define SYS_EXIT_GROUP 234
#define SYS_SETITIMER 104
#define SYS_SIGALTSTACK 185
#define SYS_RT_SIGACTION 173
#define SYS_MUNMAP 91
#define SYS_MMAP 90
#define SYS_MPROTECT 125

/* r0..r31, pc, lr, ctr, xer, cr */
#define GENERAL_WORDS 37
/* vs0..vs63, each a number of 128 bits */
#define FLOATING_WORDS 128

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

#define TRAP_INSTRUCTION 0x7fe00008 /* trap */
#define TRAP_SIGNAL SIGTRAP

/* Offset of general register word i in the ucontext of a signal frame: the gp_regs hold r0..r31,
   nip at 32, ctr at 35, lr at 36, xer at 37, cr at 38. */
#define PLACE(i) \
	(232 + 8 * ((i) <= 32 ? (i) : (i) == 33 ? 36 : (i) == 34 ? 35 : (i) == 35 ? 37 : 38))
#define PC 32
#endif
