/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for RISC-V lp64d with Zbb.
 *
 * Style: one double round per iteration, the four quarter rounds of a round side by side; the key
 * is read once and stays in s4..s11, the counter is one 64-bit register; rotates of the extension
 * Zbb; blocks are counted down. The frame holds the caller's registers and the counter pointer,
 * never a word of the state.
 */

/* Constants of RFC 8439, 2.3, as little-endian words. */
#define CONSTANT0	0x61707865
#define CONSTANT1	0x3320646e
#define CONSTANT2	0x79622d32
#define CONSTANT3	0x6b206574
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	a0
#define key	a1
#define counter	a2
#define nblocks	a3

/* The key pointer's register holds the counter once the key is loaded; the counter pointer's is
   the round counter and a scratch register once the pointer is in the frame. */
#define count	a1
#define rounds	a2
#define scratch	a2

#define word0	a4
#define word1	a5
#define word2	a6
#define word3	a7
#define word4	t0
#define word5	t1
#define word6	t2
#define word7	t3
#define word8	t4
#define word9	t5
#define word10	t6
#define word11	ra
#define word12	s0
#define word13	s1
#define word14	s2
#define word15	s3

#define k0	s4
#define k1	s5
#define k2	s6
#define k3	s7
#define k4	s8
#define k5	s9
#define k6	s10
#define k7	s11

#define FRAME		112
#define FRAME_COUNTER	0
#define FRAME_RA	8
#define FRAME_S0	16
#define FRAME_S1	24
#define FRAME_S2	32
#define FRAME_S3	40
#define FRAME_S4	48
#define FRAME_S5	56
#define FRAME_S6	64
#define FRAME_S7	72
#define FRAME_S8	80
#define FRAME_S9	88
#define FRAME_S10	96
#define FRAME_S11	104

/* Four times a += b; d ^= a; d <<<= rotation. Zbb rotates by a constant to the right only. */
.macro add_xor_rotate rotation, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
	addw	\a0, \a0, \b0
	addw	\a1, \a1, \b1
	addw	\a2, \a2, \b2
	addw	\a3, \a3, \b3
	xor	\d0, \d0, \a0
	xor	\d1, \d1, \a1
	xor	\d2, \d2, \a2
	xor	\d3, \d3, \a3
	roriw	\d0, \d0, 32 - \rotation
	roriw	\d1, \d1, 32 - \rotation
	roriw	\d2, \d2, 32 - \rotation
	roriw	\d3, \d3, 32 - \rotation
.endm

/* Four quarter rounds (RFC 8439, 2.1) on four disjoint quadruples. */
.macro quarter_rounds a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
	add_xor_rotate 16, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 12, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
	add_xor_rotate 8, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate LAST_ROTATION, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

	.option	arch, +zbb
	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	addi	sp, sp, -FRAME
	sd	ra, FRAME_RA(sp)
	sd	s0, FRAME_S0(sp)
	sd	s1, FRAME_S1(sp)
	sd	s2, FRAME_S2(sp)
	sd	s3, FRAME_S3(sp)
	sd	s4, FRAME_S4(sp)
	sd	s5, FRAME_S5(sp)
	sd	s6, FRAME_S6(sp)
	sd	s7, FRAME_S7(sp)
	sd	s8, FRAME_S8(sp)
	sd	s9, FRAME_S9(sp)
	sd	s10, FRAME_S10(sp)
	sd	s11, FRAME_S11(sp)
	sd	counter, FRAME_COUNTER(sp)

	lw	k0, 0(key)
	lw	k1, 4(key)
	lw	k2, 8(key)
	lw	k3, 12(key)
	lw	k4, 16(key)
	lw	k5, 20(key)
	lw	k6, 24(key)
	lw	k7, 28(key)

	lw	count, 4(counter)
	lwu	scratch, 0(counter)
	slli	count, count, 32
	or	count, count, scratch
.Lkey_loaded:

.Lblock:
	li	word0, CONSTANT0
	li	word1, CONSTANT1
	li	word2, CONSTANT2
	li	word3, CONSTANT3
	mv	word4, k0
	mv	word5, k1
	mv	word6, k2
	mv	word7, k3
	mv	word8, k4
	mv	word9, k5
	mv	word10, k6
	mv	word11, k7
	sext.w	word12, count
	srai	word13, count, 32
	li	word14, 0
	li	word15, 0

	li	rounds, DOUBLE_ROUNDS
.Lround:
	quarter_rounds word0, word1, word2, word3, word4, word5, word6, word7, word8, word9, word10, word11, word12, word13, word14, word15
	quarter_rounds word0, word1, word2, word3, word5, word6, word7, word4, word10, word11, word8, word9, word15, word12, word13, word14
	addi	rounds, rounds, -1
	bnez	rounds, .Lround

	li	scratch, CONSTANT0
	addw	word0, word0, scratch
	li	scratch, CONSTANT1
	addw	word1, word1, scratch
	li	scratch, CONSTANT2
	addw	word2, word2, scratch
	li	scratch, CONSTANT3
	addw	word3, word3, scratch
	addw	word4, word4, k0
	addw	word5, word5, k1
	addw	word6, word6, k2
	addw	word7, word7, k3
	addw	word8, word8, k4
	addw	word9, word9, k5
	addw	word10, word10, k6
	addw	word11, word11, k7
	addw	word12, word12, count
	srli	scratch, count, 32
	addw	word13, word13, scratch

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
.Lstored:

	addi	count, count, 1
	addi	dst, dst, 64
	addi	nblocks, nblocks, -1
	bnez	nblocks, .Lblock
.Lblocks_done:

	ld	scratch, FRAME_COUNTER(sp)
	sw	count, 0(scratch)
	srli	count, count, 32
	sw	count, 4(scratch)
.Lcounter_stored:

	/* The caller's registers overwrite words 11 to 15 and the key; the rest is cleared by hand. */
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
.Lwiped:

	ld	ra, FRAME_RA(sp)
	ld	s0, FRAME_S0(sp)
	ld	s1, FRAME_S1(sp)
	ld	s2, FRAME_S2(sp)
	ld	s3, FRAME_S3(sp)
	ld	s4, FRAME_S4(sp)
	ld	s5, FRAME_S5(sp)
	ld	s6, FRAME_S6(sp)
	ld	s7, FRAME_S7(sp)
	ld	s8, FRAME_S8(sp)
	ld	s9, FRAME_S9(sp)
	ld	s10, FRAME_S10(sp)
	ld	s11, FRAME_S11(sp)
	addi	sp, sp, FRAME
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
