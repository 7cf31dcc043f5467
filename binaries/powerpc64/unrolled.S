/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for PowerPC 64,
 * big-endian, with either ELF ABI.
 *
 * Style: all twenty rounds written out, one quarter round after the other; the key is read again
 * for the feed-forward; the counter is two zero-extended words, and bit 32 of the low one carries
 * into the high one; the block loop is tested at its head, by comparing pointers; two words are
 * joined, their bytes reversed, and stored as one doubleword. A frame with a back chain holds the
 * caller's registers, never a word of the state.
 */
#include "function.h"

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

#define FRAME	176

/* Offset from r1 of the slot of a callee-saved register, above the frame's header of 48 bytes. */
#define SLOT(register)	(8 * (register) - 48)
#define FREE		SLOT(13)

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

/* Store two words, each least significant byte first, at the address in scratch; it advances. */
.macro store_pair first, second
	clrldi	\first, \first, 32
	sldi	\second, \second, 32
	or	\first, \first, \second
	stdbrx	\first, 0, scratch
	addi	scratch, scratch, 8
.endm

function __arch_chacha20_blocks_nostack
	stdu	%r1, -FRAME(%r1)
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
	std	%r\n, SLOT(\n)(%r1)
	.endr
	sldi	end, %r6, 6
	add	end, end, dst
	lwz	low, 0(counter)
	lwz	high, 4(counter)
.Lkey_loaded:

.Lblock:
	cmpld	%cr7, dst, end
	beq	%cr7, .Lblocks_done
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

	mr	scratch, dst
	store_pair x0, x1
	store_pair x2, x3
	store_pair x4, x5
	store_pair x6, x7
	store_pair x8, x9
	store_pair x10, x11
	store_pair x12, x13
	store_pair x14, x15
.Lstored:

	addi	low, low, 1
	srdi	scratch, low, 32
	add	high, high, scratch
	clrldi	low, low, 32
	addi	dst, dst, 64
	b	.Lblock

.Lblocks_done:
	stw	low, 0(counter)
	stw	high, 4(counter)
.Lcounter_stored:

	/* The caller's registers overwrite x4..x15; the rest is cleared by hand. */
	li	scratch, 0
	li	x0, 0
	li	x1, 0
	li	x2, 0
	li	x3, 0
.Lwiped:

	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
	ld	%r\n, SLOT(\n)(%r1)
	.endr
	addi	%r1, %r1, FRAME
.Lreturn:
	blr
end_function __arch_chacha20_blocks_nostack
