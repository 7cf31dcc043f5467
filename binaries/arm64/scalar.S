/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for AArch64.
 *
 * Style: one double round per iteration, one register for each word, the four quarter rounds of a
 * round side by side; the key is read once and stays in x21 to x24, two words in each; the counter
 * is one 64-bit register; blocks are counted down. The frame holds the caller's registers.
 */

/* Constants of RFC 8439, 2.3, as little-endian words. */
#define CONSTANT0	0x61707865
#define CONSTANT1	0x3320646e
#define CONSTANT2	0x79622d32
#define CONSTANT3	0x6b206574
#define DOUBLE_ROUNDS	10

#define dst	x0
#define key	x1
#define counter	x2
#define nblocks	x3

/* The key pointer's register counts the rounds once the key is loaded. */
#define rounds	w1

/* x21 to x24 hold key words 0 to 7, x25 the counter, x26 is a scratch register; words 0 to 15 of the
   state are in w4 to w17, w19 and w20. */
#define FRAME		64
#define FRAME_X19	0
#define FRAME_X21	16
#define FRAME_X23	32
#define FRAME_X25	48

/* Four times a += b; d ^= a; d <<<= rotation. AArch64 rotates to the right only. */
.macro add_xor_rotate rotation, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
	add	\a0, \a0, \b0
	add	\a1, \a1, \b1
	add	\a2, \a2, \b2
	add	\a3, \a3, \b3
	eor	\d0, \d0, \a0
	eor	\d1, \d1, \a1
	eor	\d2, \d2, \a2
	eor	\d3, \d3, \a3
	ror	\d0, \d0, #32 - \rotation
	ror	\d1, \d1, #32 - \rotation
	ror	\d2, \d2, #32 - \rotation
	ror	\d3, \d3, #32 - \rotation
.endm

/* Four quarter rounds (RFC 8439, 2.1) on four disjoint quadruples. */
.macro quarter_rounds a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
	add_xor_rotate 16, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 12, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
	add_xor_rotate 8, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
	add_xor_rotate 7, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

.macro load_constant register, constant
	mov	\register, #(\constant) & 0xffff
	movk	\register, #(\constant) >> 16, lsl #16
.endm

.macro add_constant word, constant
	load_constant w26, \constant
	add	\word, \word, w26
.endm

/* Add the two words in the register of that number. */
.macro add_pair word0, word1, number
	add	w\word0, w\word0, w\number
	lsr	x26, x\number, #32
	add	w\word1, w\word1, w26
.endm

/* Four words of output; the register of the first of two gets both, the first one lower. */
.macro store_words word0, word1, word2, word3, offset
	orr	x\word0, x\word0, x\word1, lsl #32
	orr	x\word2, x\word2, x\word3, lsl #32
#ifdef __AARCH64EB__
	rev	x\word0, x\word0
	rev	x\word2, x\word2
#endif
	stp	x\word0, x\word2, [dst, #\offset]
.endm

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	stp	x19, x20, [sp, #-FRAME]!
	stp	x21, x22, [sp, #FRAME_X21]
	stp	x23, x24, [sp, #FRAME_X23]
	stp	x25, x26, [sp, #FRAME_X25]

	ldp	w21, w4, [key, #0]
	ldp	w22, w5, [key, #8]
	ldp	w23, w6, [key, #16]
	ldp	w24, w7, [key, #24]
	orr	x21, x21, x4, lsl #32
	orr	x22, x22, x5, lsl #32
	orr	x23, x23, x6, lsl #32
	orr	x24, x24, x7, lsl #32
	ldp	w25, w4, [counter]
	orr	x25, x25, x4, lsl #32
.Lkey_loaded:

.Lblock:
	load_constant w4, CONSTANT0
	load_constant w5, CONSTANT1
	load_constant w6, CONSTANT2
	load_constant w7, CONSTANT3
	mov	w8, w21
	lsr	x9, x21, #32
	mov	w10, w22
	lsr	x11, x22, #32
	mov	w12, w23
	lsr	x13, x23, #32
	mov	w14, w24
	lsr	x15, x24, #32
	mov	w16, w25
	lsr	x17, x25, #32
	mov	w19, wzr
	mov	w20, wzr

	mov	rounds, #DOUBLE_ROUNDS
.Lround:
	quarter_rounds w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17, w19, w20
	quarter_rounds w4, w5, w6, w7, w9, w10, w11, w8, w14, w15, w12, w13, w20, w16, w17, w19
	sub	rounds, rounds, #1
	cbnz	rounds, .Lround

	add_constant w4, CONSTANT0
	add_constant w5, CONSTANT1
	add_constant w6, CONSTANT2
	add_constant w7, CONSTANT3
	add_pair 8, 9, 21
	add_pair 10, 11, 22
	add_pair 12, 13, 23
	add_pair 14, 15, 24
	add_pair 16, 17, 25
	store_words 4, 5, 6, 7, 0
	store_words 8, 9, 10, 11, 16
	store_words 12, 13, 14, 15, 32
	store_words 16, 17, 19, 20, 48
.Lstored:

	add	x25, x25, #1
	add	dst, dst, #64
	sub	nblocks, nblocks, #1
	cbnz	nblocks, .Lblock
.Lblocks_done:

	lsr	x26, x25, #32
	stp	w25, w26, [counter]
.Lcounter_stored:
	.irp	number, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
	mov	w\number, wzr
	.endr
.Lwiped:
	ldp	x21, x22, [sp, #FRAME_X21]
	ldp	x23, x24, [sp, #FRAME_X23]
	ldp	x25, x26, [sp, #FRAME_X25]
	ldp	x19, x20, [sp], #FRAME
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
