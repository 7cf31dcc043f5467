/*
 * The exported entry, in each ABI of PowerPC: gives the C function, which needs no TOC, the address of
 * the data page as sixth argument, and turns a negative result into a positive one with the summary
 * overflow bit of CR0 set, as a system call returns an error.
 *
 * The frame is a smallest one: of ELFv1 on 64 bits, which has a header and places for eight arguments,
 * and on 32 bits that of the Power Architecture 32-bit ABI Supplement, 3.2.
 */
#ifdef __powerpc64__

#include "../powerpc64/function.h"

#define FRAME		112
#define CALLER_LR	16
#define store		std
#define store_update	stdu
#define load		ld
#define compare		cmpdi

#else

#define FRAME		16
#define CALLER_LR	4
#define store		stw
#define store_update	stwu
#define load		lwz
#define compare		cmpwi

.macro function name
	.text
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
.endm

.macro end_function name
	.size	\name, . - \name
.endm

#endif

#define CR0_SO		3

function __kernel_getrandom
	mflr	%r0
	store	%r0, CALLER_LR(%r1)
	store_update	%r1, -FRAME(%r1)
	bcl	20, 31, .Lhere
.Lhere:
	mflr	%r8
	addis	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@ha
	addi	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@l
	bl	fill_with_random
	addi	%r1, %r1, FRAME
	load	%r0, CALLER_LR(%r1)
	mtlr	%r0
	compare	%r3, 0
	blt	.Lerror
	crclr	CR0_SO
	blr
.Lerror:
	neg	%r3, %r3
	crset	CR0_SO
	blr
end_function __kernel_getrandom

#if defined(__powerpc64__) && ELF_VERSION == 1

/* A function of ELFv1 may use the places for parameters in its caller's frame, which a frame of the C
   code does not have. */
	.globl	chacha20_in_frame
	.hidden	chacha20_in_frame
	.type	chacha20_in_frame, @function
	.p2align 5
chacha20_in_frame:
	mflr	%r0
	store	%r0, CALLER_LR(%r1)
	store_update	%r1, -FRAME(%r1)
	bl	CODE(__arch_chacha20_blocks_nostack)
	addi	%r1, %r1, FRAME
	load	%r0, CALLER_LR(%r1)
	mtlr	%r0
	blr
	.size	chacha20_in_frame, . - chacha20_in_frame

#endif

	.hidden	__ehdr_start
