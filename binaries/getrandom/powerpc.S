/*
 * The exported entry: gives the C function the address of the data page as sixth argument, and turns a
 * negative result into a positive one with the summary overflow bit of CR0 set, as a system call
 * returns an error. Frame: Power Architecture 32-bit ABI Supplement, 3.2.
 */
#define FRAME		16
#define CALLER_LR	4
#define CR0_SO		3

	.text
	.globl	__kernel_getrandom
	.type	__kernel_getrandom, @function
	.p2align 5
__kernel_getrandom:
	mflr	%r0
	stw	%r0, CALLER_LR(%r1)
	stwu	%r1, -FRAME(%r1)
	bcl	20, 31, .Lhere
.Lhere:
	mflr	%r8
	addis	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@ha
	addi	%r8, %r8, (__ehdr_start - RNG_DATA - .Lhere)@l
	bl	fill_with_random
	addi	%r1, %r1, FRAME
	lwz	%r0, CALLER_LR(%r1)
	mtlr	%r0
	cmpwi	%r3, 0
	blt	.Lerror
	crclr	CR0_SO
	blr
.Lerror:
	neg	%r3, %r3
	crset	CR0_SO
	blr
	.size	__kernel_getrandom, . - __kernel_getrandom

	.hidden	__ehdr_start
