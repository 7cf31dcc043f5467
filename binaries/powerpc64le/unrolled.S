/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for the 64-Bit
 * ELF V2 ABI, little-endian.
 *
 * Style: all twenty rounds written out, one quarter round after the other; the key is read again
 * for the feed-forward; the counter is two sign-extended words joined by the carry bit; the block
 * loop is tested at its head, by comparing pointers. A frame with a back chain (2.2.2) holds the
 * caller's registers, never a word of the state.
 */

/* Constants of RFC 8439, 2.3, as little-endian words in two halves. */
#define CONSTANT0_HIGH	0x6170
#define CONSTANT0_LOW	0x7865
#define CONSTANT1_HIGH	0x3320
#define CONSTANT1_LOW	0x646e
#define CONSTANT2_HIGH	0x7962
#define CONSTANT2_LOW	0x2d32
#define CONSTANT3_HIGH	0x6b20
#define CONSTANT3_LOW	0x6574
#define DOUBLE_ROUNDS	10

#define dst	%r3
#define key	%r4
#define counter	%r5
#define end	%r6
#define low	%r7
#define high	%r8
#define scratch	%r9

#define x0	%r10
#define x1	%r11
#define x2	%r12
#define x3	%r0
#define x4	%r14
#define x5	%r15
#define x6	%r16
#define x7	%r17
#define x8	%r18
#define x9	%r19
#define x10	%r20
#define x11	%r21
#define x12	%r22
#define x13	%r23
#define x14	%r24
#define x15	%r25

#define FRAME	128

/* Offset from r1 of the slot of a callee-saved register, above the 32 bytes of the frame header. */
#define SLOT(register)	(8 * (register) - 80)

/* RFC 8439, 2.1. */
.macro quarter_round a, b, c, d
	add	\a, \a, \b
	xor	\d, \d, \a
	rotlwi	\d, \d, 16
	add	\c, \c, \d
	xor	\b, \b, \c
	rotlwi	\b, \b, 12
	add	\a, \a, \b
	xor	\d, \d, \a
	rotlwi	\d, \d, 8
	add	\c, \c, \d
	xor	\b, \b, \c
	rotlwi	\b, \b, 7
.endm

.macro load_constant x, upper, lower
	lis	\x, \upper
	ori	\x, \x, \lower
.endm

.macro add_constant x, upper, lower
	load_constant scratch, \upper, \lower
	add	\x, \x, scratch
.endm

.macro add_word x, base, offset
	lwz	scratch, \offset(\base)
	add	\x, \x, scratch
.endm

	.abiversion 2
	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	stdu	%r1, -FRAME(%r1)
	std	%r14, SLOT(14)(%r1)
	std	%r15, SLOT(15)(%r1)
	std	%r16, SLOT(16)(%r1)
	std	%r17, SLOT(17)(%r1)
	std	%r18, SLOT(18)(%r1)
	std	%r19, SLOT(19)(%r1)
	std	%r20, SLOT(20)(%r1)
	std	%r21, SLOT(21)(%r1)
	std	%r22, SLOT(22)(%r1)
	std	%r23, SLOT(23)(%r1)
	std	%r24, SLOT(24)(%r1)
	std	%r25, SLOT(25)(%r1)
	sldi	end, %r6, 6
	add	end, end, dst
	lwa	low, 0(counter)
	lwa	high, 4(counter)

.Lblock:
	cmpld	%cr7, dst, end
	beq	%cr7, .Ldone
	load_constant x0, CONSTANT0_HIGH, CONSTANT0_LOW
	load_constant x1, CONSTANT1_HIGH, CONSTANT1_LOW
	load_constant x2, CONSTANT2_HIGH, CONSTANT2_LOW
	load_constant x3, CONSTANT3_HIGH, CONSTANT3_LOW
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
	add_constant x0, CONSTANT0_HIGH, CONSTANT0_LOW
	add_constant x1, CONSTANT1_HIGH, CONSTANT1_LOW
	add_constant x2, CONSTANT2_HIGH, CONSTANT2_LOW
	add_constant x3, CONSTANT3_HIGH, CONSTANT3_LOW
	add_word x4, key, 0
	add_word x5, key, 4
	add_word x6, key, 8
	add_word x7, key, 12
	add_word x8, key, 16
	add_word x9, key, 20
	add_word x10, key, 24
	add_word x11, key, 28
	add	x12, x12, low
	add	x13, x13, high

	stw	x0, 0(dst)
	stw	x1, 4(dst)
	stw	x2, 8(dst)
	stw	x3, 12(dst)
	stw	x4, 16(dst)
	stw	x5, 20(dst)
	stw	x6, 24(dst)
	stw	x7, 28(dst)
	stw	x8, 32(dst)
	stw	x9, 36(dst)
	stw	x10, 40(dst)
	stw	x11, 44(dst)
	stw	x12, 48(dst)
	stw	x13, 52(dst)
	stw	x14, 56(dst)
	stw	x15, 60(dst)

	/* The sign-extended low word carries out of 64 bits exactly when it carries out of 32. */
	extsw	low, low
	addic	low, low, 1
	addze	high, high
	addi	dst, dst, 64
	b	.Lblock

.Ldone:
	stw	low, 0(counter)
	stw	high, 4(counter)

	/* The caller's registers overwrite x4..x15; the rest is cleared by hand. */
	li	scratch, 0
	li	x0, 0
	li	x1, 0
	li	x2, 0
	li	x3, 0
	ld	%r14, SLOT(14)(%r1)
	ld	%r15, SLOT(15)(%r1)
	ld	%r16, SLOT(16)(%r1)
	ld	%r17, SLOT(17)(%r1)
	ld	%r18, SLOT(18)(%r1)
	ld	%r19, SLOT(19)(%r1)
	ld	%r20, SLOT(20)(%r1)
	ld	%r21, SLOT(21)(%r1)
	ld	%r22, SLOT(22)(%r1)
	ld	%r23, SLOT(23)(%r1)
	ld	%r24, SLOT(24)(%r1)
	ld	%r25, SLOT(25)(%r1)
	addi	%r1, %r1, FRAME
	blr
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
