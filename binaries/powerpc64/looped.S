/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for PowerPC 64,
 * big-endian, with either ELF ABI.
 *
 * Style: one double round per iteration of a loop on the count register, the four quarter rounds of
 * a round side by side; the key is read once and stays in r24..r31; the counter is one 64-bit
 * register, which is the doubleword in memory with its words exchanged; the words are stored with
 * their bytes reversed; blocks are counted down. No frame: the caller's registers are saved in the
 * 288 bytes below the stack pointer that both ABIs protect, never a word of the state.
 */
#include "function.h"

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
#define count	%r7

/* The key pointer is dead once the key is loaded. */
#define scratch	%r4

/* An addi of r0 would read zero (Power ISA 3.1, book I, 3.3.9): r0 holds a word of the last row. */
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
#define x15	%r0

#define k0	%r24
#define k1	%r25
#define k2	%r26
#define k3	%r27
#define k4	%r28
#define k5	%r29
#define k6	%r30
#define k7	%r31

/* Offset from r1 of the slot of a callee-saved register, and of one that is free. */
#define SLOT(register)	(8 * (register) - 256)
#define FREE		SLOT(13)

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

function __arch_chacha20_blocks_nostack
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std	%r\n, SLOT(\n)(%r1)
	.endr

	lwz	k0, 0(key)
	lwz	k1, 4(key)
	lwz	k2, 8(key)
	lwz	k3, 12(key)
	lwz	k4, 16(key)
	lwz	k5, 20(key)
	lwz	k6, 24(key)
	lwz	k7, 28(key)
	ld	count, 0(counter)
	rotldi	count, count, 32
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
	mr	x4, k0
	mr	x5, k1
	mr	x6, k2
	mr	x7, k3
	mr	x8, k4
	mr	x9, k5
	mr	x10, k6
	mr	x11, k7
	mr	x12, count
	srdi	x13, count, 32
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
	add	x4, x4, k0
	add	x5, x5, k1
	add	x6, x6, k2
	add	x7, x7, k3
	add	x8, x8, k4
	add	x9, x9, k5
	add	x10, x10, k6
	add	x11, x11, k7
	add	x12, x12, count
	srdi	scratch, count, 32
	add	x13, x13, scratch

	li	scratch, 0
	.irp	word, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	stwbrx	\word, dst, scratch
	addi	scratch, scratch, 4
	.endr
.Lstored:

	addi	count, count, 1
	addi	dst, dst, 64
	addi	nblocks, nblocks, -1
	cmpdi	nblocks, 0
	bne	.Lblock
.Lblocks_done:

	rotldi	count, count, 32
	std	count, 0(counter)
.Lcounter_stored:

	/* The caller's registers overwrite x5..x14 and the key; the rest is cleared by hand. */
	li	x0, 0
	li	x1, 0
	li	x2, 0
	li	x3, 0
	li	x4, 0
	li	x15, 0
.Lwiped:

	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld	%r\n, SLOT(\n)(%r1)
	.endr
.Lreturn:
	blr
end_function __arch_chacha20_blocks_nostack
