/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for AArch64 with
 * Advanced SIMD.
 *
 * Style: one double round per iteration, the state as four rows of four words; the key stays in
 * two vectors, the counter in the two low words of another; blocks are counted down. No stack.
 * Vectors are loaded by words and stored by bytes, which is right in either byte order.
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	x0
#define key	x1
#define counter	x2
#define nblocks	x3
#define rounds	w4
#define table	x5

#define row0	v0
#define row1	v1
#define row2	v2
#define row3	v3
#define key0	v4
#define key1	v5
#define count	v6
#define one	v7
#define constants	v16
#define by8	v17
#define scratch	v18

/* x ^= y; x <<<= amount */
.macro xor_rotate x, y, amount
	eor	scratch.16b, \x\().16b, \y\().16b
	shl	\x\().4s, scratch.4s, #\amount
	sri	\x\().4s, scratch.4s, #32 - \amount
.endm

/* RFC 8439, 2.1, on the four columns at once. */
.macro quarter_rounds
	add	row0.4s, row0.4s, row1.4s
	eor	row3.16b, row3.16b, row0.16b
	rev32	row3.8h, row3.8h
	add	row2.4s, row2.4s, row3.4s
	xor_rotate row1, row2, 12
	add	row0.4s, row0.4s, row1.4s
	eor	row3.16b, row3.16b, row0.16b
	tbl	row3.16b, {row3.16b}, by8.16b
	add	row2.4s, row2.4s, row3.4s
	xor_rotate row1, row2, LAST_ROTATION
.endm

/* Rotate the lanes of rows 1 to 3, each down by so many bytes. */
.macro turn down1, down2, down3
	ext	row1.16b, row1.16b, row1.16b, #\down1
	ext	row2.16b, row2.16b, row2.16b, #\down2
	ext	row3.16b, row3.16b, row3.16b, #\down3
.endm

	.section .rodata
	.p2align 4
.Lconstants:
	.word	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
	/* The bytes of each word rotated to the left by one, as indices. */
	.word	0x02010003, 0x06050407, 0x0a09080b, 0x0e0d0c0f

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	adr	table, .Lconstants
	ld1	{constants.4s, by8.4s}, [table]
	ld1	{key0.4s, key1.4s}, [key]
	ld1	{count.2s}, [counter]
	movi	one.4s, #0
	mov	rounds, #1
	mov	one.s[0], rounds
.Lkey_loaded:

.Lblock:
	mov	row0.16b, constants.16b
	mov	row1.16b, key0.16b
	mov	row2.16b, key1.16b
	mov	row3.16b, count.16b

	mov	rounds, #DOUBLE_ROUNDS
.Lround:
	quarter_rounds
	turn	4, 8, 12
	quarter_rounds
	turn	12, 8, 4
	subs	rounds, rounds, #1
	b.ne	.Lround

	add	row0.4s, row0.4s, constants.4s
	add	row1.4s, row1.4s, key0.4s
	add	row2.4s, row2.4s, key1.4s
	add	row3.4s, row3.4s, count.4s
	st1	{row0.16b, row1.16b, row2.16b, row3.16b}, [dst], #64
.Lstored:

	add	count.2d, count.2d, one.2d
	subs	nblocks, nblocks, #1
	b.ne	.Lblock
.Lblocks_done:

	st1	{count.2s}, [counter]
.Lcounter_stored:
	movi	row0.4s, #0
	movi	row1.4s, #0
	movi	row2.4s, #0
	movi	row3.4s, #0
	movi	key0.4s, #0
	movi	key1.4s, #0
	movi	scratch.4s, #0
.Lwiped:
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
