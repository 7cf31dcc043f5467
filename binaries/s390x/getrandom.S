/*
 * ssize_t __kernel_getrandom(void *buffer, size_t len, unsigned int flags,
 *                            void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: ELF Application Binary Interface s390x Supplement.
 */
#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96
#define FRAME		168
#define FRAME_COUNTER	160

/* Offset from r15 of the caller's slot for a register. */
#define SLOT(register)	(8 * (register))

	.machine z13
	.text
	.globl	__kernel_getrandom
	.type	__kernel_getrandom, @function
	.p2align 4
__kernel_getrandom:
	cghi	%r6, STATE_SIZE
	jne	.Linvalid
	srlg	%r0, %r3, 6
	ltgr	%r0, %r0
	je	.Lempty
	stmg	%r12, %r15, SLOT(12)(%r15)
	aghi	%r15, -FRAME
	sllg	%r12, %r0, 6
	lghi	%r1, 0
	stg	%r1, FRAME_COUNTER(%r15)
	la	%r3, STATE_KEY(%r5)
	la	%r4, FRAME_COUNTER(%r15)
	lgr	%r5, %r0
	brasl	%r14, __arch_chacha20_blocks_nostack
	lgr	%r2, %r12
	lmg	%r12, %r15, FRAME + SLOT(12)(%r15)
	br	%r14
.Lempty:
	lghi	%r2, 0
	br	%r14
.Linvalid:
	lghi	%r2, -EINVAL
	br	%r14
	.size	__kernel_getrandom, . - __kernel_getrandom
