/* What the runner cannot say in C, for the 32-bit System V ABI, big-endian. */
#include "powerpc.h"

	/* Where runner.lds puts the runner. */
	.globl	RUNNER_ADDRESS
RUNNER_ADDRESS = 0xe0000000

	.text
	.globl	_start
_start:
	b	run

/* long system_call(a, b, c, d, e, f, number): the error is a negative number, as elsewhere. */
	.globl	system_call
	.type	system_call, @function
system_call:
	mr	%r0, %r9
	sc
	bnslr
	neg	%r3, %r3
	blr

.macro sixteen first, move, size, base, index
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\move	\first + \n, \base, \index
	addi	\index, \index, \size
	.endr
.endm

.macro all_floating move_vector, move_float, base, index
	li	\index, VECTORS
	sixteen	0, \move_vector, 16, \base, \index
	sixteen	16, \move_vector, 16, \base, \index
	li	\index, FLOATING
	sixteen	0, \move_float, 8, \base, \index
	sixteen	16, \move_float, 8, \base, \index
.endm

/* void enter(const u64 *floating): load the vector and floating registers, then trap; the signal
   handler continues behind the trap. */
	.globl	enter
	.type	enter, @function
enter:
	addi	%r3, %r3, -8 * GENERAL_WORDS
	all_floating lvx, lfdx, %r3, %r4
	trap
	blr

/* The signal handler: store the vector and floating registers, then go on in C. */
	.globl	signal_entry
	.type	signal_entry, @function
signal_entry:
	lis	%r6, seen@ha
	addi	%r6, %r6, seen@l
	all_floating stvx, stfdx, %r6, %r7
	b	handle
