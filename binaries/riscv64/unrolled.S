/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for RISC-V lp64d.
 *
 * Style: all twenty rounds written out, one quarter round after the other, rotates by two shifts;
 * the key is read again for the feed-forward, and the counter words live in the caller's memory and
 * go up there after each block; the block loop is tested at its head, by comparing pointers. ra is
 * never touched.
 */

/* Constants of RFC 8439, 2.3, as little-endian words. */
#define CONSTANT0	0x61707865
#define CONSTANT1	0x3320646e
#define CONSTANT2	0x79622d32
#define CONSTANT3	0x6b206574
#define DOUBLE_ROUNDS	10

#define dst	a0
#define key	a1
#define counter	a2
#define end	a3
#define scratch	s5

#define word0	t0
#define word1	t1
#define word2	t2
#define word3	t3
#define word4	t4
#define word5	t5
#define word6	t6
#define word7	a4
#define word8	a5
#define word9	a6
#define word10	a7
#define word11	s0
#define word12	s1
#define word13	s2
#define word14	s3
#define word15	s4

#define FRAME		48
#define FRAME_S0	0
#define FRAME_S1	8
#define FRAME_S2	16
#define FRAME_S3	24
#define FRAME_S4	32
#define FRAME_S5	40

.macro rotate x, amount
	slliw	scratch, \x, \amount
	srliw	\x, \x, 32 - \amount
	or	\x, \x, scratch
.endm

/* RFC 8439, 2.1. */
.macro quarter_round a, b, c, d
	addw	\a, \a, \b
	xor	\d, \d, \a
	rotate	\d, 16
	addw	\c, \c, \d
	xor	\b, \b, \c
	rotate	\b, 12
	addw	\a, \a, \b
	xor	\d, \d, \a
	rotate	\d, 8
	addw	\c, \c, \d
	xor	\b, \b, \c
	rotate	\b, 7
.endm

.macro add_constant x, constant
	li	scratch, \constant
	addw	\x, \x, scratch
.endm

.macro add_word x, base, offset
	lw	scratch, \offset(\base)
	addw	\x, \x, scratch
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	addi	sp, sp, -FRAME
	sd	s0, FRAME_S0(sp)
	sd	s1, FRAME_S1(sp)
	sd	s2, FRAME_S2(sp)
	sd	s3, FRAME_S3(sp)
	sd	s4, FRAME_S4(sp)
	sd	s5, FRAME_S5(sp)
	slli	end, a3, 6
	add	end, end, dst

.Lblock:
	beq	dst, end, .Ldone
	li	word0, CONSTANT0
	li	word1, CONSTANT1
	li	word2, CONSTANT2
	li	word3, CONSTANT3
	lw	word4, 0(key)
	lw	word5, 4(key)
	lw	word6, 8(key)
	lw	word7, 12(key)
	lw	word8, 16(key)
	lw	word9, 20(key)
	lw	word10, 24(key)
	lw	word11, 28(key)
	lw	word12, 0(counter)
	lw	word13, 4(counter)
	li	word14, 0
	li	word15, 0

	.rept	DOUBLE_ROUNDS
	quarter_round word0, word4, word8, word12
	quarter_round word1, word5, word9, word13
	quarter_round word2, word6, word10, word14
	quarter_round word3, word7, word11, word15
	quarter_round word0, word5, word10, word15
	quarter_round word1, word6, word11, word12
	quarter_round word2, word7, word8, word13
	quarter_round word3, word4, word9, word14
	.endr

	/* The last block may overwrite the key: all of the key is read before the first store. */
	add_constant word0, CONSTANT0
	add_constant word1, CONSTANT1
	add_constant word2, CONSTANT2
	add_constant word3, CONSTANT3
	add_word word4, key, 0
	add_word word5, key, 4
	add_word word6, key, 8
	add_word word7, key, 12
	add_word word8, key, 16
	add_word word9, key, 20
	add_word word10, key, 24
	add_word word11, key, 28
	add_word word12, counter, 0
	add_word word13, counter, 4

	sw	word0, 0(dst)
	sw	word1, 4(dst)
	sw	word2, 8(dst)
	sw	word3, 12(dst)
	sw	word4, 16(dst)
	sw	word5, 20(dst)
	sw	word6, 24(dst)
	sw	word7, 28(dst)
	sw	word8, 32(dst)
	sw	word9, 36(dst)
	sw	word10, 40(dst)
	sw	word11, 44(dst)
	sw	word12, 48(dst)
	sw	word13, 52(dst)
	sw	word14, 56(dst)
	sw	word15, 60(dst)

	/* The low word is zero after the increment exactly when it carries. */
	lw	word0, 0(counter)
	lw	word1, 4(counter)
	addiw	word0, word0, 1
	seqz	word2, word0
	addw	word1, word1, word2
	sw	word0, 0(counter)
	sw	word1, 4(counter)
	addi	dst, dst, 64
	j	.Lblock

.Ldone:
	/* The caller's registers overwrite words 11 to 15 and scratch; the rest is cleared by hand. */
	li	word0, 0
	li	word1, 0
	li	word2, 0
	li	word3, 0
	li	word4, 0
	li	word5, 0
	li	word6, 0
	li	word7, 0
	li	word8, 0
	li	word9, 0
	li	word10, 0
	ld	s0, FRAME_S0(sp)
	ld	s1, FRAME_S1(sp)
	ld	s2, FRAME_S2(sp)
	ld	s3, FRAME_S3(sp)
	ld	s4, FRAME_S4(sp)
	ld	s5, FRAME_S5(sp)
	addi	sp, sp, FRAME
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
