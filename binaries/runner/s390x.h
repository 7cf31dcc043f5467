/* s390x: system call numbers and signal frame of Linux, and the order of the registers. */
#define SYS_READ 3
#define SYS_WRITE 4
#define SYS_EXIT_GROUP 248
#define SYS_SETITIMER 104
#define SYS_SIGALTSTACK 186
#define SYS_RT_SIGACTION 174
#define SYS_MUNMAP 91
#define SYS_MMAP 90
#define SYS_MPROTECT 125

/* pc, r0..r15, a0..a15 (two in each word) */
#define GENERAL_WORDS 25
/* v0..v31, each a big-endian number of 128 bits, fpc, cc */
#define FLOATING_WORDS 66

#ifndef __ASSEMBLER__
struct sigaction {
	void (*handler)(int, void *, void *);
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

#define TRAP_INSTRUCTION 0 /* an operation code that is never assigned */
#define TRAP_SIGNAL SIGILL

/* Offset of general register word i in the ucontext of a signal frame, which has them in order. */
#define PLACE(i) (48 + 8 * (i))
#define PC 0

#define GOES_ON(signal) ((signal) == SIGILL || (signal) == SIGTRAP || (signal) == SIGFPE)
#endif
