/*
 * ssize_t __vdso_getrandom(void *buffer, size_t len, unsigned int flags,
 *                          void *opaque_state, size_t opaque_len)
 *
 * Fills the whole 64-byte blocks of buffer with the ChaCha20 stream of the key at opaque_state + 96,
 * from block 0 on, and returns the number of bytes written, or -EINVAL when opaque_state is not 144
 * bytes long. Arguments, frame and return value: LoongArch ELF psABI, LP64 calling convention.
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
	li.w	$t0, STATE_SIZE
	bne	$a4, $t0, .Linvalid
	srli.d	$t0, $a1, 6
	beqz	$t0, .Lempty
	addi.d	$sp, $sp, -FRAME
	st.d	$ra, $sp, FRAME_RA
	st.d	$s0, $sp, FRAME_S0
	slli.d	$s0, $t0, 6
	st.d	$zero, $sp, FRAME_COUNTER
	addi.d	$a1, $a3, STATE_KEY
	addi.d	$a2, $sp, FRAME_COUNTER
	move	$a3, $t0
	bl	__arch_chacha20_blocks_nostack
	move	$a0, $s0
	ld.d	$s0, $sp, FRAME_S0
	ld.d	$ra, $sp, FRAME_RA
	addi.d	$sp, $sp, FRAME
	ret
.Lempty:
	move	$a0, $zero
	ret
.Linvalid:
	li.w	$a0, -EINVAL
	ret
	.size	__vdso_getrandom, . - __vdso_getrandom
