/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for PowerPC 32,
 * big-endian, System V ABI.
 *
 * Style: one double round per iteration of a loop on the count register, the four quarter rounds of
 * a round side by side; the key is read again for the feed-forward; the counter is two registers
 * joined by the carry bit; blocks are counted down. A frame, for which the stack pointer is moved
 * first, holds the caller's registers, all stored by one instruction, never a word of the state.
 */

/* Constants of RFC 8439, 2.3, in two halves; the low halves are positive as signed immediates. */
#define CONSTANT0_HIGH	0x6170
#define CONSTANT0_LOW	0x7865
#define CONSTANT1_HIGH	0x3320
#define CONSTANT1_LOW	0x646e
#define CONSTANT2_HIGH	0x7962
#define CONSTANT2_LOW	0x2d32
#define CONSTANT3_HIGH	0x6b20
#define CONSTANT3_LOW	0x6574
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	%r3
#define key	%r4
#define counter	%r5
#define nblocks	%r6
#define low	%r7
#define high	%r8
#define scratch	%r9

/* An addi of r0 would read zero (Power ISA 3.1, book I, 3.3.9): r0 holds a word of the last row. */
#define x0	%r10
#define x1	%r11
#define x2	%r12
#define x3	%r14
#define x4	%r15
#define x5	%r16
#define x6	%r17
#define x7	%r18
#define x8	%r19
#define x9	%r20
#define x10	%r21
#define x11	%r22
#define x12	%r23
#define x13	%r24
#define x14	%r25
#define x15	%r0

#define FIRST_SAVED	%r14
#define FRAME		96
#define SAVED		16
/* A word of the frame without use. */
#define FREE		8

/* Four times a += b; d ^= a; d <<<= rotation. */
.macro add_xor_rotate rotation, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
	add	\a0, \a0, \b0
	add	\a1, \a1, \b1
	add	\a2, \a2, \b2
	add	\a3, \a3, \b3
	xor	\d0, \d0, \a0
	xor	\d1, \d1, \a1
	xor	\d2, \d2, \a2
	xor	\d3, \d3, \a3
	rotlwi	\d0, \d0, \rotation
	rotlwi	\d1, \d1, \rotation
	rotlwi	\d2, \d2, \rotation
	rotlwi	\d3, \d3, \rotation
.endm

/* Four quarter rounds (RFC 8439, 2.1) on four disjoint quadruples. */
.macro quarter_rounds a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
	add_xor_rotate 16, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 12, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
	add_xor_rotate 8, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate LAST_ROTATION, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

.macro add_word x, offset
	lwz	scratch, \offset(key)
	add	\x, \x, scratch
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	stwu	%r1, -FRAME(%r1)
	stmw	FIRST_SAVED, SAVED(%r1)
	lwz	low, 0(counter)
	lwz	high, 4(counter)
.Lkey_loaded:

.Lblock:
	lis	x0, CONSTANT0_HIGH
	lis	x1, CONSTANT1_HIGH
	lis	x2, CONSTANT2_HIGH
	lis	x3, CONSTANT3_HIGH
	ori	x0, x0, CONSTANT0_LOW
	ori	x1, x1, CONSTANT1_LOW
	ori	x2, x2, CONSTANT2_LOW
	ori	x3, x3, CONSTANT3_LOW
	lwz	x4, 0(key)
	lwz	x5, 4(key)
	lwz	x6, 8(key)
	lwz	x7, 12(key)
	lwz	x8, 16(key)
	lwz	x9, 20(key)
	lwz	x10, 24(key)
	lwz	x11, 28(key)
	mr	x12, low
	mr	x13, high
	li	x14, 0
	li	x15, 0

	li	scratch, DOUBLE_ROUNDS
	mtctr	scratch
.Lround:
	quarter_rounds x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	quarter_rounds x0, x1, x2, x3, x5, x6, x7, x4, x10, x11, x8, x9, x15, x12, x13, x14
	bdnz	.Lround

	addis	x0, x0, CONSTANT0_HIGH
	addis	x1, x1, CONSTANT1_HIGH
	addis	x2, x2, CONSTANT2_HIGH
	addis	x3, x3, CONSTANT3_HIGH
	addi	x0, x0, CONSTANT0_LOW
	addi	x1, x1, CONSTANT1_LOW
	addi	x2, x2, CONSTANT2_LOW
	addi	x3, x3, CONSTANT3_LOW
	/* The last block may overwrite the key: all of the key is read before the first store. */
	add_word x4, 0
	add_word x5, 4
	add_word x6, 8
	add_word x7, 12
	add_word x8, 16
	add_word x9, 20
	add_word x10, 24
	add_word x11, 28
	add	x12, x12, low
	add	x13, x13, high

	li	scratch, 0
	.irp	word, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	stwbrx	\word, dst, scratch
	addi	scratch, scratch, 4
	.endr
.Lstored:

	addic	low, low, 1
	addze	high, high
	addi	dst, dst, 64
	addic.	nblocks, nblocks, -1
	bne	.Lblock
.Lblocks_done:

	stw	low, 0(counter)
	stw	high, 4(counter)
.Lcounter_stored:

	/* The caller's registers overwrite x3..x14; the rest is cleared by hand. */
	li	x0, 0
	li	x1, 0
	li	x2, 0
	li	x15, 0
	li	scratch, 0
.Lwiped:

	lmw	FIRST_SAVED, SAVED(%r1)
	addi	%r1, %r1, FRAME
.Lreturn:
	blr
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
