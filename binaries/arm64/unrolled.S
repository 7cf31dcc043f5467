/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for AArch64 with
 * Advanced SIMD.
 *
 * Style: all twenty rounds written out, the state as four rows of four words in v8 to v11, of which
 * the frame holds the callee-saved halves; all rotates by shift and insert; the key is read again
 * for the feed-forward, and the counter words live in the caller's memory and go up there by adds
 * and adc; the block loop is tested at its head, by comparing pointers. Vectors are loaded by words
 * and stored by bytes, which is right in either byte order.
 */
#define DOUBLE_ROUNDS	10

#define dst	x0
#define key	x1
#define counter	x2
#define nblocks	x3
#define end	x4
#define table	x5
#define low	w6
#define high	w7

#define row0	v8
#define row1	v9
#define row2	v10
#define row3	v11
#define scratch	v19

#define FRAME		32
#define FRAME_D8	0
#define FRAME_D10	16

/* x ^= y; x <<<= amount */
.macro xor_rotate x, y, amount
	eor	scratch.16b, \x\().16b, \y\().16b
	ushr	\x\().4s, scratch.4s, #32 - \amount
	sli	\x\().4s, scratch.4s, #\amount
.endm

/* RFC 8439, 2.1, on the four columns at once. */
.macro quarter_rounds
	add	row0.4s, row0.4s, row1.4s
	xor_rotate row3, row0, 16
	add	row2.4s, row2.4s, row3.4s
	xor_rotate row1, row2, 12
	add	row0.4s, row0.4s, row1.4s
	xor_rotate row3, row0, 8
	add	row2.4s, row2.4s, row3.4s
	xor_rotate row1, row2, 7
.endm

/* Rotate the lanes of rows 1 to 3, each down by so many bytes. */
.macro turn down1, down2, down3
	ext	row1.16b, row1.16b, row1.16b, #\down1
	ext	row2.16b, row2.16b, row2.16b, #\down2
	ext	row3.16b, row3.16b, row3.16b, #\down3
.endm

.macro load_state row0, row1, row2, row3
	ld1	{\row0\().4s}, [table]
	ld1	{\row1\().4s, \row2\().4s}, [key]
	ld1	{\row3\().2s}, [counter]
.endm

	.section .rodata
	.p2align 4
.Lconstants:
	.word	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	sub	sp, sp, #FRAME
	stp	d8, d9, [sp, #FRAME_D8]
	stp	d10, d11, [sp, #FRAME_D10]
	adr	table, .Lconstants
	add	end, dst, nblocks, lsl #6

.Lblock:
	cmp	dst, end
	b.eq	.Lblocks_done
	load_state row0, row1, row2, row3

	.rept	DOUBLE_ROUNDS
	quarter_rounds
	turn	4, 8, 12
	quarter_rounds
	turn	12, 8, 4
	.endr

	/* The last block may overwrite the key: all of the key is read before the first store. */
	load_state v16, v17, v18, v19
	add	row0.4s, row0.4s, v16.4s
	add	row1.4s, row1.4s, v17.4s
	add	row2.4s, row2.4s, v18.4s
	add	row3.4s, row3.4s, v19.4s
	st1	{row0.16b, row1.16b, row2.16b, row3.16b}, [dst], #64
.Lstored:

	ldp	low, high, [counter]
	adds	low, low, #1
	adc	high, high, wzr
	stp	low, high, [counter]
.Lcounter_stored:
	b	.Lblock

.Lblocks_done:
	movi	row0.4s, #0
	movi	row1.4s, #0
	movi	row2.4s, #0
	movi	row3.4s, #0
	movi	v17.4s, #0
	movi	v18.4s, #0
.Lwiped:
	ldp	d8, d9, [sp, #FRAME_D8]
	ldp	d10, d11, [sp, #FRAME_D10]
	add	sp, sp, #FRAME
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
