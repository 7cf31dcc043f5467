/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for s390x with the
 * vector facility.
 *
 * Style: all twenty rounds written out, one quarter round after the other, each word in all
 * elements of a register; the key is read again for the feed-forward, which is done in general
 * registers; each word is stored with its bytes reversed; the counter is two words joined by the
 * carry; the block loop is tested at its head, by comparing pointers. The caller's r6 to r9 are
 * saved in its own register save area, f8 to f15 in a frame below it, never a word of the state.
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	%r2
#define key	%r3
#define counter	%r4
#define end	%r5
#define constants	%r6
#define low	%r7
#define high	%r8
#define zero	%r9
#define scratch	%r0

#define x0	%v8
#define x1	%v9
#define x2	%v10
#define x3	%v11
#define x4	%v12
#define x5	%v13
#define x6	%v14
#define x7	%v15
#define x8	%v16
#define x9	%v17
#define x10	%v18
#define x11	%v19
#define x12	%v20
#define x13	%v21
#define x14	%v22
#define x15	%v23

/* Room for f8 to f15 above the 160 bytes that belong to whatever is called. */
#define FRAME	224

/* Offset from r15 of the slot of f<n> in the frame, and of that of r<n> in the caller's frame. */
#define FLOAT_SLOT(register)	(160 + 8 * ((register) - 8))
#define SLOT(register)	(8 * (register))

/* RFC 8439, 2.1. */
.macro quarter_round a, b, c, d
	vaf	\a, \a, \b
	vx	\d, \d, \a
	verllf	\d, \d, 16
	vaf	\c, \c, \d
	vx	\b, \b, \c
	verllf	\b, \b, 12
	vaf	\a, \a, \b
	vx	\d, \d, \a
	verllf	\d, \d, 8
	vaf	\c, \c, \d
	vx	\b, \b, \c
	verllf	\b, \b, LAST_ROTATION
.endm

/* Add a word in memory or in a register and store the sum, little-endian. */
.macro add_word x, base, offset, to
	vlgvf	scratch, \x, 0
	al	scratch, \offset(\base)
	strv	scratch, \to(dst)
.endm

.macro add_register x, register, to
	vlgvf	scratch, \x, 0
	alr	scratch, \register
	strv	scratch, \to(dst)
.endm

	.machine z13
	.section .rodata
	.p2align 2
.Lconstants:
	.long	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 4
__arch_chacha20_blocks_nostack:
	stmg	%r6, %r9, SLOT(6)(%r15)
	aghi	%r15, -FRAME
	vsteg	%v8, FLOAT_SLOT(8)(%r15), 0
	vsteg	%v9, FLOAT_SLOT(9)(%r15), 0
	vsteg	%v10, FLOAT_SLOT(10)(%r15), 0
	vsteg	%v11, FLOAT_SLOT(11)(%r15), 0
	vsteg	%v12, FLOAT_SLOT(12)(%r15), 0
	vsteg	%v13, FLOAT_SLOT(13)(%r15), 0
	vsteg	%v14, FLOAT_SLOT(14)(%r15), 0
	vsteg	%v15, FLOAT_SLOT(15)(%r15), 0
	sllg	end, %r5, 6
	algr	end, dst
	larl	constants, .Lconstants
	llgf	low, 0(counter)
	llgf	high, 4(counter)
	lghi	zero, 0

.Lblock:
	clgrje	dst, end, .Ldone
	vlrepf	x0, 0(constants)
	vlrepf	x1, 4(constants)
	vlrepf	x2, 8(constants)
	vlrepf	x3, 12(constants)
	vlrepf	x4, 0(key)
	vlrepf	x5, 4(key)
	vlrepf	x6, 8(key)
	vlrepf	x7, 12(key)
	vlrepf	x8, 16(key)
	vlrepf	x9, 20(key)
	vlrepf	x10, 24(key)
	vlrepf	x11, 28(key)
	vlvgp	x12, low, low
	vrepf	x12, x12, 1
	vlvgp	x13, high, high
	vrepf	x13, x13, 3
	vzero	x14
	vgbm	x15, 0

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

	/* The last block may overwrite the key, each word of it after it has been added. */
	add_word x0, constants, 0, 0
	add_word x1, constants, 4, 4
	add_word x2, constants, 8, 8
	add_word x3, constants, 12, 12
	add_word x4, key, 0, 16
	add_word x5, key, 4, 20
	add_word x6, key, 8, 24
	add_word x7, key, 12, 28
	add_word x8, key, 16, 32
	add_word x9, key, 20, 36
	add_word x10, key, 24, 40
	add_word x11, key, 28, 44
	add_register x12, low, 48
	add_register x13, high, 52
	vlgvf	scratch, x14, 0
	strv	scratch, 56(dst)
	vlgvf	scratch, x15, 0
	strv	scratch, 60(dst)

	alfi	low, 1
	alcr	high, zero
	aghi	dst, 64
	j	.Lblock

.Ldone:
	st	low, 0(counter)
	st	high, 4(counter)

	lghi	scratch, 0
	.irp	x, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
	vzero	\x
	.endr
	vleg	%v8, FLOAT_SLOT(8)(%r15), 0
	vleg	%v9, FLOAT_SLOT(9)(%r15), 0
	vleg	%v10, FLOAT_SLOT(10)(%r15), 0
	vleg	%v11, FLOAT_SLOT(11)(%r15), 0
	vleg	%v12, FLOAT_SLOT(12)(%r15), 0
	vleg	%v13, FLOAT_SLOT(13)(%r15), 0
	vleg	%v14, FLOAT_SLOT(14)(%r15), 0
	vleg	%v15, FLOAT_SLOT(15)(%r15), 0
	aghi	%r15, FRAME
	lmg	%r6, %r9, SLOT(6)(%r15)
	br	%r14
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
