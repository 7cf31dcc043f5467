/* What the runner cannot say in C, for the System V ABI of x86-64. */
#include "x86_64.h"

	.text
	.globl	_start
_start:
	call	run

/* long system_call(a, b, c, d, e, f, number) */
	.globl	system_call
system_call:
	mov	8(%rsp), %rax
	mov	%rcx, %r10
	syscall
	ret

.macro all_vectors load, base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.if	\load
	movups	16 * \n(\base), %xmm\n
	.else
	movups	%xmm\n, 16 * \n(\base)
	.endif
	.endr
.endm

/* void enter(const u64 *floating): load the vector registers, then trap; the signal handler
   continues behind the trap, which counts as 4 bytes. */
	.globl	enter
enter:
	all_vectors 1, %rdi
	ud2
	nop
	nop
	ret

/* The signal handler: store the vector registers, then go on in C. */
	.globl	signal_entry
signal_entry:
	lea	seen(%rip), %rax
	add	$8 * GENERAL_WORDS, %rax
	all_vectors 0, %rax
	jmp	handle

	.globl	signal_restorer
signal_restorer:
	mov	$SYS_RT_SIGRETURN, %eax
	syscall
