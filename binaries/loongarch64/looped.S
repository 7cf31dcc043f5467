/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for LoongArch LP64.
 *
 * Style: one double round per iteration, the four quarter rounds of a round side by side; the key
 * is read once and stays in s1..s8, the counter is one 64-bit register; blocks are counted down.
 * The frame holds the caller's registers and the counter pointer, never a word of the state.
 */

/* Constants of RFC 8439, 2.3, as little-endian words. */
#define CONSTANT0	0x61707865
#define CONSTANT1	0x3320646e
#define CONSTANT2	0x79622d32
#define CONSTANT3	0x6b206574
#define DOUBLE_ROUNDS	10

#define dst	$a0
#define key	$a1
#define counter	$a2
#define nblocks	$a3

/* The key pointer's register holds the counter once the key is loaded; the counter pointer's is
   the round counter and a scratch register once the pointer is in the frame. */
#define count	$a1
#define rounds	$a2
#define scratch	$a2

#define x0	$a4
#define x1	$a5
#define x2	$a6
#define x3	$a7
#define x4	$t0
#define x5	$t1
#define x6	$t2
#define x7	$t3
#define x8	$t4
#define x9	$t5
#define x10	$t6
#define x11	$t7
#define x12	$t8
#define x13	$ra
#define x14	$fp
#define x15	$s0

#define k0	$s1
#define k1	$s2
#define k2	$s3
#define k3	$s4
#define k4	$s5
#define k5	$s6
#define k6	$s7
#define k7	$s8

#define FRAME		96
#define FRAME_RA	88
#define FRAME_FP	80
#define FRAME_S0	72
#define FRAME_S1	64
#define FRAME_S2	56
#define FRAME_S3	48
#define FRAME_S4	40
#define FRAME_S5	32
#define FRAME_S6	24
#define FRAME_S7	16
#define FRAME_S8	8
#define FRAME_COUNTER	0

/* Four times a += b; d ^= a; d <<<= rotation. LoongArch rotates to the right only. */
.macro add_xor_rotate rotation, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
	add.w	\a0, \a0, \b0
	add.w	\a1, \a1, \b1
	add.w	\a2, \a2, \b2
	add.w	\a3, \a3, \b3
	xor	\d0, \d0, \a0
	xor	\d1, \d1, \a1
	xor	\d2, \d2, \a2
	xor	\d3, \d3, \a3
	rotri.w	\d0, \d0, 32 - \rotation
	rotri.w	\d1, \d1, 32 - \rotation
	rotri.w	\d2, \d2, 32 - \rotation
	rotri.w	\d3, \d3, 32 - \rotation
.endm

/* Four quarter rounds (RFC 8439, 2.1) on four disjoint quadruples. */
.macro quarter_rounds a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
	add_xor_rotate 16, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 12, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
	add_xor_rotate 8, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 7, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	addi.d	$sp, $sp, -FRAME
	st.d	$ra, $sp, FRAME_RA
	st.d	$fp, $sp, FRAME_FP
	st.d	$s0, $sp, FRAME_S0
	st.d	$s1, $sp, FRAME_S1
	st.d	$s2, $sp, FRAME_S2
	st.d	$s3, $sp, FRAME_S3
	st.d	$s4, $sp, FRAME_S4
	st.d	$s5, $sp, FRAME_S5
	st.d	$s6, $sp, FRAME_S6
	st.d	$s7, $sp, FRAME_S7
	st.d	$s8, $sp, FRAME_S8
	st.d	counter, $sp, FRAME_COUNTER

	ld.w	k0, key, 0
	ld.w	k1, key, 4
	ld.w	k2, key, 8
	ld.w	k3, key, 12
	ld.w	k4, key, 16
	ld.w	k5, key, 20
	ld.w	k6, key, 24
	ld.w	k7, key, 28

	ld.w	count, counter, 4
	ld.wu	scratch, counter, 0
	slli.d	count, count, 32
	or	count, count, scratch

.Lblock:
	li.w	x0, CONSTANT0
	li.w	x1, CONSTANT1
	li.w	x2, CONSTANT2
	li.w	x3, CONSTANT3
	move	x4, k0
	move	x5, k1
	move	x6, k2
	move	x7, k3
	move	x8, k4
	move	x9, k5
	move	x10, k6
	move	x11, k7
	slli.w	x12, count, 0
	srai.d	x13, count, 32
	move	x14, $zero
	move	x15, $zero

	li.w	rounds, DOUBLE_ROUNDS
.Lround:
	quarter_rounds x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	quarter_rounds x0, x1, x2, x3, x5, x6, x7, x4, x10, x11, x8, x9, x15, x12, x13, x14
	addi.w	rounds, rounds, -1
	bnez	rounds, .Lround

	li.w	scratch, CONSTANT0
	add.w	x0, x0, scratch
	li.w	scratch, CONSTANT1
	add.w	x1, x1, scratch
	li.w	scratch, CONSTANT2
	add.w	x2, x2, scratch
	li.w	scratch, CONSTANT3
	add.w	x3, x3, scratch
	add.w	x4, x4, k0
	add.w	x5, x5, k1
	add.w	x6, x6, k2
	add.w	x7, x7, k3
	add.w	x8, x8, k4
	add.w	x9, x9, k5
	add.w	x10, x10, k6
	add.w	x11, x11, k7
	add.w	x12, x12, count
	srli.d	scratch, count, 32
	add.w	x13, x13, scratch

	st.w	x0, dst, 0
	st.w	x1, dst, 4
	st.w	x2, dst, 8
	st.w	x3, dst, 12
	st.w	x4, dst, 16
	st.w	x5, dst, 20
	st.w	x6, dst, 24
	st.w	x7, dst, 28
	st.w	x8, dst, 32
	st.w	x9, dst, 36
	st.w	x10, dst, 40
	st.w	x11, dst, 44
	st.w	x12, dst, 48
	st.w	x13, dst, 52
	st.w	x14, dst, 56
	st.w	x15, dst, 60

	addi.d	count, count, 1
	addi.d	dst, dst, 64
	addi.d	nblocks, nblocks, -1
	bnez	nblocks, .Lblock

	ld.d	scratch, $sp, FRAME_COUNTER
	st.w	count, scratch, 0
	srli.d	count, count, 32
	st.w	count, scratch, 4

	/* The caller's registers overwrite x13..x15 and the key; the rest is cleared by hand. */
	move	x0, $zero
	move	x1, $zero
	move	x2, $zero
	move	x3, $zero
	move	x4, $zero
	move	x5, $zero
	move	x6, $zero
	move	x7, $zero
	move	x8, $zero
	move	x9, $zero
	move	x10, $zero
	move	x11, $zero
	move	x12, $zero

	ld.d	$ra, $sp, FRAME_RA
	ld.d	$fp, $sp, FRAME_FP
	ld.d	$s0, $sp, FRAME_S0
	ld.d	$s1, $sp, FRAME_S1
	ld.d	$s2, $sp, FRAME_S2
	ld.d	$s3, $sp, FRAME_S3
	ld.d	$s4, $sp, FRAME_S4
	ld.d	$s5, $sp, FRAME_S5
	ld.d	$s6, $sp, FRAME_S6
	ld.d	$s7, $sp, FRAME_S7
	ld.d	$s8, $sp, FRAME_S8
	addi.d	$sp, $sp, FRAME
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
