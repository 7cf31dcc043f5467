/*
 * ssize_t __kernel_getrandom(void *buffer, size_t len, unsigned int flags,
 *                            void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments and return value are the same in both ELF ABIs; the frame has the 48 bytes
 * of ELFv1's header and the 64 in which it gives a callee's arguments their places.
 */
#include "function.h"

#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96
#define FRAME		128
#define FRAME_COUNTER	112
#define FRAME_SIZE	120
#define CALLER_LR	16

function __kernel_getrandom
	cmpldi	%r7, STATE_SIZE
	bne	.Linvalid
	srdi.	%r0, %r4, 6
	beq	.Lempty
	mflr	%r8
	std	%r8, CALLER_LR(%r1)
	stdu	%r1, -FRAME(%r1)
	sldi	%r8, %r0, 6
	std	%r8, FRAME_SIZE(%r1)
	li	%r8, 0
	std	%r8, FRAME_COUNTER(%r1)
	addi	%r4, %r6, STATE_KEY
	addi	%r5, %r1, FRAME_COUNTER
	mr	%r6, %r0
	bl	CODE(__arch_chacha20_blocks_nostack)
	ld	%r3, FRAME_SIZE(%r1)
	addi	%r1, %r1, FRAME
	ld	%r0, CALLER_LR(%r1)
	mtlr	%r0
	blr
.Lempty:
	li	%r3, 0
	blr
.Linvalid:
	li	%r3, -EINVAL
	blr
end_function __kernel_getrandom
