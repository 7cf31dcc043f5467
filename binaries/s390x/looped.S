/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for s390x with the
 * vector facility.
 *
 * Style: one double round per iteration, the state as four rows of four words; the key stays in
 * two registers, the counter is one 64-bit number in a general register; the words' bytes are put in
 * little-endian order by a permutation; blocks are counted down. No stack.
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	%r2
#define key	%r3
#define counter	%r4
#define nblocks	%r5
#define rounds	%r0
#define count	%r1

/* The key pointer is dead once the key is loaded. */
#define scratch	%r3

#define row0	%v0
#define row1	%v1
#define row2	%v2
#define row3	%v3
#define key0	%v4
#define key1	%v5
#define first	%v6
#define constants	%v16
#define reversed	%v17

/* RFC 8439, 2.1, on the four columns at once. */
.macro quarter_rounds
	vaf	row0, row0, row1
	vx	row3, row3, row0
	verllf	row3, row3, 16
	vaf	row2, row2, row3
	vx	row1, row1, row2
	verllf	row1, row1, 12
	vaf	row0, row0, row1
	vx	row3, row3, row0
	verllf	row3, row3, 8
	vaf	row2, row2, row3
	vx	row1, row1, row2
	verllf	row1, row1, LAST_ROTATION
.endm

/* Rotate the elements of rows 1 to 3 to the left, each by so many bytes. */
.macro turn bytes1, bytes2, bytes3
	vsldb	row1, row1, row1, \bytes1
	vsldb	row2, row2, row2, \bytes2
	vsldb	row3, row3, row3, \bytes3
.endm

	.machine z13
	.section .rodata
	.p2align 4
.Lconstants:
	.long	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
	/* For each byte of a result, the number of the operand's byte. */
	.long	0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 4
__arch_chacha20_blocks_nostack:
	larl	%r1, .Lconstants
	vlm	constants, reversed, 0(%r1)
	vlm	key0, key1, 0(key)
	/* The low word is the first one in memory. */
	lg	count, 0(counter)
	rllg	count, count, 32
	vzero	first
.Lkey_loaded:

.Lblock:
	rllg	scratch, count, 32
	vlvgg	first, scratch, 0
	vlr	row0, constants
	vlr	row1, key0
	vlr	row2, key1
	vlr	row3, first

	lghi	rounds, DOUBLE_ROUNDS
.Lround:
	quarter_rounds
	turn	4, 8, 12
	quarter_rounds
	turn	12, 8, 4
	brctg	rounds, .Lround

	vaf	row0, row0, constants
	vaf	row1, row1, key0
	vaf	row2, row2, key1
	vaf	row3, row3, first
	vperm	row0, row0, row0, reversed
	vperm	row1, row1, row1, reversed
	vperm	row2, row2, row2, reversed
	vperm	row3, row3, row3, reversed
	vstm	row0, row3, 0(dst)
.Lstored:

	aghi	count, 1
	la	dst, 64(dst)
	brctg	nblocks, .Lblock
.Lblocks_done:

	rllg	count, count, 32
	stg	count, 0(counter)
.Lcounter_stored:

	vzero	row0
	vzero	row1
	vzero	row2
	vzero	row3
	vzero	key0
	vzero	key1
.Lwiped:
.Lreturn:
	br	%r14
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
