/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for s390x with the
 * vector facility and the vector-enhancements facility 2.
 *
 * Style: one double round per iteration, the state as four rows of four words; the key is read again
 * for the feed-forward; the counter is one 64-bit number in a vector register; the rows are stored
 * with the bytes of their words reversed; the block loop is tested at its head. No stack.
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	%r2
#define key	%r3
#define counter	%r4
#define nblocks	%r5
#define rounds	%r1

#define row0	%v20
#define row1	%v21
#define row2	%v22
#define row3	%v23
#define constants	%v24
#define count	%v25
#define one	%v26
#define added	%v27

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

/* Rotate the elements of rows 1 and 3 to the left, each by so many bytes, and those of row 2 by two
   elements. */
.macro turn bytes1, bytes3
	vsldb	row1, row1, row1, \bytes1
	vpdi	row2, row2, row2, 4
	vsldb	row3, row3, row3, \bytes3
.endm

	.machine z15
	.section .rodata
	.p2align 4
.Lconstants:
	.long	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 4
__arch_chacha20_blocks_nostack:
	larl	%r1, .Lconstants
	vl	constants, 0(%r1)
	vllezg	count, 0(counter)
	/* The low word is the first one in memory. */
	verllg	count, count, 32
	vzero	one
	vleig	one, 1, 0

.Lblock:
	cgije	nblocks, 0, .Lblocks_done
	vlr	row0, constants
	vl	row1, 0(key)
	vl	row2, 16(key)
	verllg	row3, count, 32

	lhi	rounds, DOUBLE_ROUNDS
.Lround:
	quarter_rounds
	turn	4, 12
	quarter_rounds
	turn	12, 4
	brct	rounds, .Lround

	/* The last block may overwrite the key: all of the key is read before the first store. */
	vaf	row0, row0, constants
	vl	added, 0(key)
	vaf	row1, row1, added
	vl	added, 16(key)
	vaf	row2, row2, added
	verllg	added, count, 32
	vaf	row3, row3, added
	vstbrf	row0, 0(dst)
	vstbrf	row1, 16(dst)
	vstbrf	row2, 32(dst)
	vstbrf	row3, 48(dst)

	vag	count, count, one
	aghi	dst, 64
	aghi	nblocks, -1
	j	.Lblock
.Lblocks_done:

	verllg	count, count, 32
	vsteg	count, 0(counter), 0

	vx	row0, row0, row0
	vx	row1, row1, row1
	vx	row2, row2, row2
	vx	row3, row3, row3
	br	%r14
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
