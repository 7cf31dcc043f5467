/* What the runner cannot say in C, for LoongArch LP64. */
#include "loongarch64.h"

/* LoongArch Reference Manual, volume 1, 2.2.10.5: CPUCFG word 2, bit 6 tells that there is LSX. */
#define CONFIGURATION	2
#define LSX		0x40

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

.macro every_register_at base, instruction, letter
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	\instruction	$\letter\n, \base, 16 * \n
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\instruction	$\letter\n, \base, 16 * \n
	.endr
.endm

/* Branch to `without` if there are no vector registers. */
.macro unless_vectors without, scratch
	li.w	\scratch, CONFIGURATION
	cpucfg	\scratch, \scratch
	andi	\scratch, \scratch, LSX
	beqz	\scratch, \without
.endm

/* void enter(const u64 *floating): load the floating registers, then trap; the signal handler
   continues behind the trap. What no register holds is seen as it was given. */
	.globl	enter
enter:
	unless_vectors .Lload_floating, $t0
	every_register_at $a0, vld, vr
	b	.Lload_status
.Lload_floating:
	every_register_at $a0, fld.d, f
	la.local	$t0, seen
	addi.d	$t0, $t0, 8 * GENERAL_WORDS
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	ld.d	$t1, $a0, 16 * \n + 8
	st.d	$t1, $t0, 16 * \n + 8
	ld.d	$t1, $a0, 16 * \n + 264
	st.d	$t1, $t0, 16 * \n + 264
	.endr
.Lload_status:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	ld.bu	$t0, $a0, CONDITIONS + \n
	movgr2cf	$fcc\n, $t0
	.endr
	ld.w	$t0, $a0, CONTROL
	movgr2fcsr	$fcsr0, $t0
	break	0
	ret

/* The signal handler: store the floating registers, then go on in C. */
	.globl	signal_entry
signal_entry:
	la.local	$t0, seen
	addi.d	$t0, $t0, 8 * GENERAL_WORDS
	unless_vectors .Lstore_floating, $t1
	every_register_at $t0, vst, vr
	b	.Lstore_status
.Lstore_floating:
	every_register_at $t0, fst.d, f
.Lstore_status:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movcf2gr	$t1, $fcc\n
	st.b	$t1, $t0, CONDITIONS + \n
	.endr
	movfcsr2gr	$t1, $fcsr0
	st.d	$t1, $t0, CONTROL
	b	handle
