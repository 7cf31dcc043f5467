/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for LoongArch LP64.
 *
 * Style: all twenty rounds written out, one quarter round after the other; the key is read again
 * for the feed-forward, and the counter words live in the caller's memory and go up there after
 * each block; the block loop is tested at its head, by comparing pointers. ra is never touched.
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
#define end	$a3
#define scratch	$s3

#define x0	$t0
#define x1	$t1
#define x2	$t2
#define x3	$t3
#define x4	$t4
#define x5	$t5
#define x6	$t6
#define x7	$t7
#define x8	$t8
#define x9	$a4
#define x10	$a5
#define x11	$a6
#define x12	$a7
#define x13	$s0
#define x14	$s1
#define x15	$s2

#define FRAME		32
#define FRAME_S0	0
#define FRAME_S1	8
#define FRAME_S2	16
#define FRAME_S3	24

/* RFC 8439, 2.1. LoongArch rotates to the right only. */
.macro quarter_round a, b, c, d
	add.w	\a, \a, \b
	xor	\d, \d, \a
	rotri.w	\d, \d, 32 - 16
	add.w	\c, \c, \d
	xor	\b, \b, \c
	rotri.w	\b, \b, 32 - 12
	add.w	\a, \a, \b
	xor	\d, \d, \a
	rotri.w	\d, \d, 32 - 8
	add.w	\c, \c, \d
	xor	\b, \b, \c
	rotri.w	\b, \b, 32 - 7
.endm

.macro add_constant x, constant
	li.w	scratch, \constant
	add.w	\x, \x, scratch
.endm

.macro add_word x, base, offset
	ld.w	scratch, \base, \offset
	add.w	\x, \x, scratch
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	addi.d	$sp, $sp, -FRAME
	st.d	$s0, $sp, FRAME_S0
	st.d	$s1, $sp, FRAME_S1
	st.d	$s2, $sp, FRAME_S2
	st.d	$s3, $sp, FRAME_S3
	slli.d	end, $a3, 6
	add.d	end, end, dst

.Lblock:
	beq	dst, end, .Ldone
	li.w	x0, CONSTANT0
	li.w	x1, CONSTANT1
	li.w	x2, CONSTANT2
	li.w	x3, CONSTANT3
	ld.w	x4, key, 0
	ld.w	x5, key, 4
	ld.w	x6, key, 8
	ld.w	x7, key, 12
	ld.w	x8, key, 16
	ld.w	x9, key, 20
	ld.w	x10, key, 24
	ld.w	x11, key, 28
	ld.w	x12, counter, 0
	ld.w	x13, counter, 4
	move	x14, $zero
	move	x15, $zero

	.rept	DOUBLE_ROUNDS
	quarter_round x0, x4, x8, x12
	quarter_round x1, x5, x9, x13
	quarter_round x2, x6, x10, x14
	quarter_round x3, x7, x11, x15
	quarter_round x0, x5, x10, x15
	quarter_round x1, x6, x11, x12
	quarter_round x2, x7, x8, x13
	quarter_round x3, x4, x9, x14
	.endr

	/* The last block may overwrite the key: all of the key is read before the first store. */
	add_constant x0, CONSTANT0
	add_constant x1, CONSTANT1
	add_constant x2, CONSTANT2
	add_constant x3, CONSTANT3
	add_word x4, key, 0
	add_word x5, key, 4
	add_word x6, key, 8
	add_word x7, key, 12
	add_word x8, key, 16
	add_word x9, key, 20
	add_word x10, key, 24
	add_word x11, key, 28
	add_word x12, counter, 0
	add_word x13, counter, 4

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

	/* The low word is zero after the increment exactly when it carries. */
	ld.w	x0, counter, 0
	ld.w	x1, counter, 4
	addi.w	x0, x0, 1
	sltui	x2, x0, 1
	add.w	x1, x1, x2
	st.w	x0, counter, 0
	st.w	x1, counter, 4
	addi.d	dst, dst, 64
	b	.Lblock

.Ldone:
	/* The caller's registers overwrite x13..x15 and scratch; the rest is cleared by hand. */
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
	ld.d	$s0, $sp, FRAME_S0
	ld.d	$s1, $sp, FRAME_S1
	ld.d	$s2, $sp, FRAME_S2
	ld.d	$s3, $sp, FRAME_S3
	addi.d	$sp, $sp, FRAME
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
