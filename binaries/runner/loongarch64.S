/* What the runner cannot say in C, for LoongArch LP64. */
#include "loongarch64.h"

	.text
	.globl	_start
_start:
	bl	run

/* long system_call(a, b, c, d, e, f, number) */
	.globl	system_call
system_call:
	move	$a7, $a6
	syscall	0
	ret

.macro all_floating move_float, base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\move_float	$f\n, \base, 8 * \n
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\move_float	$f\n, \base, 8 * \n
	.endr
.endm

/* void enter(const u64 *floating): load the floating registers, then trap; the signal handler
   continues behind the trap. */
	.globl	enter
enter:
	all_floating fld.d, $a0
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	ld.bu	$t0, $a0, 256 + \n
	movgr2cf	$fcc\n, $t0
	.endr
	ld.w	$t0, $a0, 264
	movgr2fcsr	$fcsr0, $t0
	break	0
	ret

/* The signal handler: store the floating registers, then go on in C. */
	.globl	signal_entry
signal_entry:
	la.local	$t0, seen
	addi.d	$t0, $t0, 8 * GENERAL_WORDS
	all_floating fst.d, $t0
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movcf2gr	$t1, $fcc\n
	st.b	$t1, $t0, 256 + \n
	.endr
	movfcsr2gr	$t1, $fcsr0
	st.d	$t1, $t0, 264
	b	handle
