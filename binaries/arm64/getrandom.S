/*
 * ssize_t __kernel_getrandom(void *buffer, size_t len, unsigned int flags,
 *                            void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: Procedure Call Standard for the Arm 64-bit
 * Architecture (AArch64).
 */
#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96
#define FRAME		32
#define FRAME_SIZE	16
#define FRAME_COUNTER	24

	.text
	.globl	__kernel_getrandom
	.type	__kernel_getrandom, @function
	.p2align 4
__kernel_getrandom:
	cmp	x4, #STATE_SIZE
	b.ne	.Linvalid
	ands	x5, x1, #-64
	b.eq	.Lempty
	stp	x29, x30, [sp, #-FRAME]!
	mov	x29, sp
	stp	x5, xzr, [sp, #FRAME_SIZE]
	add	x1, x3, #STATE_KEY
	add	x2, sp, #FRAME_COUNTER
	lsr	x3, x5, #6
	bl	__arch_chacha20_blocks_nostack
	ldr	x0, [sp, #FRAME_SIZE]
	ldp	x29, x30, [sp], #FRAME
	ret
.Lempty:
	mov	x0, #0
	ret
.Linvalid:
	mov	x0, #-EINVAL
	ret
	.size	__kernel_getrandom, . - __kernel_getrandom
