/*
 * The exported entry, in either ELF ABI: gives the C function, which needs no TOC, the address of the
 * data page as sixth argument, and turns a negative result into a positive one with the summary
 * overflow bit of CR0 set, as a system call returns an error.
 *
 * The frame is a smallest one of ELFv1: header and places for eight arguments.
 */
#include "../powerpc64/function.h"

#define FRAME		112
#define CALLER_LR	16
#define CR0_SO		3

function __kernel_getrandom
	mflr	%r0
	std	%r0, CALLER_LR(%r1)
	stdu	%r1, -FRAME(%r1)
	bcl	20, 31, .Lhere
.Lhere:
	mflr	%r8
	addis	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@ha
	addi	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@l
	bl	fill_with_random
	addi	%r1, %r1, FRAME
	ld	%r0, CALLER_LR(%r1)
	mtlr	%r0
	cmpdi	%r3, 0
	blt	.Lerror
	crclr	CR0_SO
	blr
.Lerror:
	neg	%r3, %r3
	crset	CR0_SO
	blr
end_function __kernel_getrandom

	.hidden	__ehdr_start
