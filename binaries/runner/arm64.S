/* What the runner cannot say in C, for AAPCS64 in either byte order. */
#include "arm64.h"

	.text
	.globl	_start
_start:
	b	run

/* long system_call(a, b, c, d, e, f, number) */
	.globl	system_call
system_call:
	mov	x8, x6
	svc	#0
	ret

.macro all_vectors move, base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\move	q\n, [\base, #16 * \n]
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\move	q\n, [\base, #16 * \n]
	.endr
.endm

/* void enter(const u64 *floating): load the vector registers and the status, then trap; the signal
   handler continues behind the trap. */
	.globl	enter
enter:
	all_vectors ldr, x0
	ldr	x1, [x0, #512]
	msr	fpcr, x1
	ldr	x1, [x0, #520]
	msr	fpsr, x1
	ldr	x1, [x0, #528]
	msr	tpidr_el0, x1
	brk	#0
	ret

/* The signal handler: store the vector registers and the status, then go on in C. */
	.globl	signal_entry
signal_entry:
	adrp	x9, seen
	add	x9, x9, :lo12:seen
	add	x9, x9, #8 * GENERAL_WORDS
	all_vectors str, x9
	mrs	x10, fpcr
	str	x10, [x9, #512]
	mrs	x10, fpsr
	str	x10, [x9, #520]
	mrs	x10, tpidr_el0
	str	x10, [x9, #528]
	b	handle

	.globl	signal_restorer
signal_restorer:
	mov	x8, #SYS_RT_SIGRETURN
	svc	#0
