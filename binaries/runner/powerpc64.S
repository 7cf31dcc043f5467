/* What the runner cannot say in C, for the 64-Bit ELF V2 ABI. */
#include "powerpc64.h"

	.abiversion 2
	.machine power9
	.text
	.globl	_start
_start:
	bcl	20, 31, .Lhere
.Lhere:
	mflr	%r12
	addis	%r2, %r12, .TOC. - .Lhere@ha
	addi	%r2, %r2, .TOC. - .Lhere@l
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

.macro all_vectors move_vector, base, index
	li	\index, 0
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\move_vector	\n, \base, \index
	addi	\index, \index, 16
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\move_vector	\n, \base, \index
	addi	\index, \index, 16
	.endr
	.irp	n, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47
	\move_vector	\n, \base, \index
	addi	\index, \index, 16
	.endr
	.irp	n, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63
	\move_vector	\n, \base, \index
	addi	\index, \index, 16
	.endr
.endm

/* void enter(const u64 *floating): load the vector registers, then trap; the signal handler
   continues behind the trap. */
	.globl	enter
	.type	enter, @function
enter:
	all_vectors lxvx, %r3, %r4
	trap
	blr

/* The signal handler: store the vector registers, then go on in C. r12 holds its own address. */
	.globl	signal_entry
	.type	signal_entry, @function
signal_entry:
	addis	%r2, %r12, .TOC. - signal_entry@ha
	addi	%r2, %r2, .TOC. - signal_entry@l
	.localentry signal_entry, . - signal_entry
	addis	%r6, %r2, seen@toc@ha
	addi	%r6, %r6, seen@toc@l
	addi	%r6, %r6, 8 * GENERAL_WORDS
	all_vectors stxvx, %r6, %r7
	b	handle
