/*
 * ssize_t __vdso_getrandom(void *buffer, size_t len, unsigned int flags,
 *                          void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: System V ABI, AMD64 supplement.
 */
#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96

	.text
	.globl	__vdso_getrandom
	.type	__vdso_getrandom, @function
	.p2align 4
__vdso_getrandom:
	cmp	$STATE_SIZE, %r8
	jne	.Linvalid
	xor	%eax, %eax
	shr	$6, %rsi
	jz	.Ldone
	push	%rbx
	push	$0
	sub	$8, %rsp
	mov	%rsi, %rbx
	lea	STATE_KEY(%rcx), %rsi
	lea	8(%rsp), %rdx
	mov	%rbx, %rcx
	call	__arch_chacha20_blocks_nostack
	mov	%rbx, %rax
	shl	$6, %rax
	add	$16, %rsp
	pop	%rbx
.Ldone:
	ret
.Linvalid:
	mov	$-EINVAL, %rax
	ret
	.size	__vdso_getrandom, . - __vdso_getrandom
