/* What the runner cannot say in C, for RISC-V lp64d. */
#include "riscv64.h"

	.option	norvc
	.text
	.globl	_start
_start:
	j	run

/* long system_call(a, b, c, d, e, f, number) */
	.globl	system_call
system_call:
	mv	a7, a6
	ecall
	ret

.macro all_floating move_float, base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\move_float	f\n, 8 * \n(\base)
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\move_float	f\n, 8 * \n(\base)
	.endr
.endm

/* void enter(const u64 *floating): load the floating registers, then trap; the signal handler
   continues behind the trap. */
	.globl	enter
enter:
	all_floating fld, a0
	lwu	t0, 256(a0)
	fscsr	t0
	ebreak
	ret

/* The signal handler: store the floating registers, then go on in C. */
	.globl	signal_entry
signal_entry:
	lla	t0, seen
	addi	t0, t0, 8 * GENERAL_WORDS
	all_floating fsd, t0
	frcsr	t1
	sd	t1, 256(t0)
	j	handle
