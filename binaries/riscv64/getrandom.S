/*
 * ssize_t __vdso_getrandom(void *buffer, size_t len, unsigned int flags,
 *                          void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: RISC-V ABIs Specification, lp64d.
 */
#define EINVAL		22
#define STATE_SIZE	144
#define STATE_KEY	96
#define FRAME		32
#define FRAME_COUNTER	0
#define FRAME_S0	16
#define FRAME_RA	24

	.text
	.globl	__vdso_getrandom
	.type	__vdso_getrandom, @function
	.p2align 4
__vdso_getrandom:
	li	t0, STATE_SIZE
	bne	a4, t0, .Linvalid
	srli	t0, a1, 6
	beqz	t0, .Lempty
	addi	sp, sp, -FRAME
	sd	ra, FRAME_RA(sp)
	sd	s0, FRAME_S0(sp)
	slli	s0, t0, 6
	sd	zero, FRAME_COUNTER(sp)
	addi	a1, a3, STATE_KEY
	addi	a2, sp, FRAME_COUNTER
	mv	a3, t0
	jal	__arch_chacha20_blocks_nostack
	mv	a0, s0
	ld	s0, FRAME_S0(sp)
	ld	ra, FRAME_RA(sp)
	addi	sp, sp, FRAME
	ret
.Lempty:
	li	a0, 0
	ret
.Linvalid:
	li	a0, -EINVAL
	ret
	.size	__vdso_getrandom, . - __vdso_getrandom
