/*
 * ssize_t __kernel_getrandom(void *buffer, size_t len, unsigned int flags,
 *                            void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: Power Architecture 32-bit ABI Supplement, 3.2.
 */
#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96
#define FRAME		32
#define FRAME_COUNTER	8
#define FRAME_SIZE	16
#define CALLER_LR	4

	.text
	.globl	__kernel_getrandom
	.type	__kernel_getrandom, @function
	.p2align 4
__kernel_getrandom:
	cmplwi	%r7, STATE_SIZE
	bne	.Linvalid
	srwi.	%r0, %r4, 6
	beq	.Lempty
	mflr	%r8
	stw	%r8, CALLER_LR(%r1)
	stwu	%r1, -FRAME(%r1)
	slwi	%r8, %r0, 6
	stw	%r8, FRAME_SIZE(%r1)
	li	%r8, 0
	stw	%r8, FRAME_COUNTER(%r1)
	stw	%r8, FRAME_COUNTER + 4(%r1)
	addi	%r4, %r6, STATE_KEY
	addi	%r5, %r1, FRAME_COUNTER
	mr	%r6, %r0
	bl	__arch_chacha20_blocks_nostack
	lwz	%r3, FRAME_SIZE(%r1)
	addi	%r1, %r1, FRAME
	lwz	%r0, CALLER_LR(%r1)
	mtlr	%r0
	blr
.Lempty:
	li	%r3, 0
	blr
.Linvalid:
	li	%r3, -EINVAL
	blr
	.size	__kernel_getrandom, . - __kernel_getrandom
