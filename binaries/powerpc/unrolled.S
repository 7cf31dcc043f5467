/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for PowerPC 32,
 * big-endian, System V ABI.
 *
 * Style: all twenty rounds written out, one quarter round after the other; the last four key words
 * stay in registers, the others are read again for the feed-forward; the counter is updated in
 * memory after each block; the block loop is tested at its head, by comparing pointers. A frame holds
 * the caller's registers, each stored by itself, never a word of the state.
 */

/* Constants of RFC 8439, 2.3, in two halves. */
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
#define end	%r6
#define scratch	%r7

#define x0	%r8
#define x1	%r9
#define x2	%r10
#define x3	%r11
#define x4	%r12
#define x5	%r14
#define x6	%r15
#define x7	%r16
#define x8	%r17
#define x9	%r18
#define x10	%r19
#define x11	%r20
#define x12	%r21
#define x13	%r22
#define x14	%r23
#define x15	%r24

#define k4	%r25
#define k5	%r26
#define k6	%r27
#define k7	%r28

#define FRAME	80

/* Offset from r1 of the slot of a callee-saved register, above the back chain, the callee's word for
   LR and one without use. */
#define SLOT(register)	(4 * (register) - 40)
#define FREE		12

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
	rotlwi	\b, \b, LAST_ROTATION
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

/* Store a word least significant byte first, and let dst point behind it. */
.macro store x
	stwbrx	\x, 0, dst
	addi	dst, dst, 4
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	stwu	%r1, -FRAME(%r1)
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
	stw	%r\n, SLOT(\n)(%r1)
	.endr
	slwi	end, %r6, 6
	add	end, end, dst
	lwz	k4, 16(key)
	lwz	k5, 20(key)
	lwz	k6, 24(key)
	lwz	k7, 28(key)
.Lkey_loaded:

.Lblock:
	cmplw	%cr6, dst, end
	beq	%cr6, .Lblocks_done
	load_constant x0, CONSTANT0_HIGH, CONSTANT0_LOW
	load_constant x1, CONSTANT1_HIGH, CONSTANT1_LOW
	load_constant x2, CONSTANT2_HIGH, CONSTANT2_LOW
	load_constant x3, CONSTANT3_HIGH, CONSTANT3_LOW
	lwz	x4, 0(key)
	lwz	x5, 4(key)
	lwz	x6, 8(key)
	lwz	x7, 12(key)
	mr	x8, k4
	mr	x9, k5
	mr	x10, k6
	mr	x11, k7
	lwz	x12, 0(counter)
	lwz	x13, 4(counter)
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
	add	x8, x8, k4
	add	x9, x9, k5
	add	x10, x10, k6
	add	x11, x11, k7
	add_word x12, counter, 0
	add_word x13, counter, 4

	.irp	word, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	store	\word
	.endr
.Lstored:

	lwz	x0, 0(counter)
	lwz	x1, 4(counter)
	addic	x0, x0, 1
	addze	x1, x1
	stw	x0, 0(counter)
	stw	x1, 4(counter)
	b	.Lblock

.Lblocks_done:
	/* The caller's registers overwrite x5..x15 and the key; the rest is cleared by hand. */
	li	scratch, 0
	li	x0, 0
	li	x1, 0
	li	x2, 0
	li	x3, 0
	li	x4, 0
.Lwiped:

	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
	lwz	%r\n, SLOT(\n)(%r1)
	.endr
	addi	%r1, %r1, FRAME
.Lreturn:
	blr
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
