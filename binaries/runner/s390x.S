/* What the runner cannot say in C, for the s390x ELF ABI. */
#include "s390x.h"

#define PSW_MASK	40

	.machine z13
	.text
	.globl	_start
_start:
	aghi	%r15, -160
	jg	run

/* long system_call(a, b, c, d, e, f, number): mmap takes its arguments in memory. */
	.globl	system_call
system_call:
	stg	%r7, 72(%r15)
	lg	%r7, 160(%r15)
	lg	%r1, 168(%r15)
	cghi	%r1, SYS_MMAP
	jne	.Lcall
	stmg	%r2, %r7, 16(%r15)
	la	%r2, 16(%r15)
.Lcall:
	svc	0
	lg	%r7, 72(%r15)
	br	%r14

/* void enter(const u64 *floating): load the vector registers, floating-point control and condition
   code, then trap; the signal handler continues 4 bytes behind the next instruction. */
	.globl	enter
enter:
	vlm	%v0, %v15, 0(%r2)
	vlm	%v16, %v31, 256(%r2)
	lfpc	516(%r2)
	lg	%r0, 520(%r2)
	sllg	%r0, %r0, 28
	spm	%r0
	.short	0
	nopr
	nopr
	br	%r14

/* The signal handler: store the vector registers, floating-point control and condition code, then
   go on in C. */
	.globl	signal_entry
signal_entry:
	larl	%r1, seen + 8 * GENERAL_WORDS
	vstm	%v0, %v15, 0(%r1)
	vstm	%v16, %v31, 256(%r1)
	xgr	%r0, %r0
	stg	%r0, 512(%r1)
	stfpc	516(%r1)
	lg	%r0, PSW_MASK(%r4)
	risbg	%r0, %r0, 62, 128 + 63, 20
	stg	%r0, 520(%r1)
	jg	handle
