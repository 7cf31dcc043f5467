/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for LoongArch LP64
 * with LSX, vectors of 128 bits.
 *
 * Style: one double round per iteration, the state as four rows of four words; the key stays in
 * two registers, the counter in the two low words of another; blocks are counted down. One
 * register is preserved in the frame, in half: of $vr24 the caller keeps the low half ($fs0).
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	$a0
#define key	$a1
#define counter	$a2
#define nblocks	$a3
#define rounds	$t0
#define scratch	$t1

#define row0	$vr0
#define row1	$vr1
#define row2	$vr2
#define row3	$vr3
#define key0	$vr4
#define key1	$vr5
#define constants	$vr6
#define count	$vr7
#define one	$vr24

#define FRAME		16
#define FRAME_FS0	8

/* RFC 8439, 2.1, on the four columns at once. LSX rotates to the right only. */
.macro quarter_rounds
	vadd.w	row0, row0, row1
	vxor.v	row3, row3, row0
	vrotri.w	row3, row3, 32 - 16
	vadd.w	row2, row2, row3
	vxor.v	row1, row1, row2
	vrotri.w	row1, row1, 32 - 12
	vadd.w	row0, row0, row1
	vxor.v	row3, row3, row0
	vrotri.w	row3, row3, 32 - 8
	vadd.w	row2, row2, row3
	vxor.v	row1, row1, row2
	vrotri.w	row1, row1, 32 - LAST_ROTATION
.endm

/* Rotate the lanes of rows 1 to 3, each by one of DOWN1 to DOWN3. */
.macro turn down1, down2, down3
	vshuf4i.w	row1, row1, \down1
	vshuf4i.w	row2, row2, \down2
	vshuf4i.w	row3, row3, \down3
.endm
#define DOWN1	0x39
#define DOWN2	0x4e
#define DOWN3	0x93

	.section .rodata
	.p2align 4
.Lconstants:
	.long	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	addi.d	$sp, $sp, -FRAME
	fst.d	$fs0, $sp, FRAME_FS0
	la.local	scratch, .Lconstants
	vld	constants, scratch, 0
	vld	key0, key, 0
	vld	key1, key, 16
	ld.wu	scratch, counter, 0
	vldi	count, 0
	vinsgr2vr.w	count, scratch, 0
	ld.wu	scratch, counter, 4
	vinsgr2vr.w	count, scratch, 1
	li.w	scratch, 1
	vldi	one, 0
	vinsgr2vr.d	one, scratch, 0
.Lkey_loaded:

.Lblock:
	vori.b	row0, constants, 0
	vori.b	row1, key0, 0
	vori.b	row2, key1, 0
	vori.b	row3, count, 0

	li.w	rounds, DOUBLE_ROUNDS
.Lround:
	quarter_rounds
	turn	DOWN1, DOWN2, DOWN3
	quarter_rounds
	turn	DOWN3, DOWN2, DOWN1
	addi.w	rounds, rounds, -1
	bnez	rounds, .Lround

	vadd.w	row0, row0, constants
	vadd.w	row1, row1, key0
	vadd.w	row2, row2, key1
	vadd.w	row3, row3, count
	vst	row0, dst, 0
	vst	row1, dst, 16
	vst	row2, dst, 32
	vst	row3, dst, 48
.Lstored:

	vadd.d	count, count, one
	addi.d	dst, dst, 64
	addi.d	nblocks, nblocks, -1
	bnez	nblocks, .Lblock
.Lblocks_done:

	vstelm.w	count, counter, 0, 0
	vstelm.w	count, counter, 4, 1
.Lcounter_stored:
	vldi	row0, 0
	vldi	row1, 0
	vldi	row2, 0
	vldi	row3, 0
	vldi	key0, 0
	vldi	key1, 0
.Lwiped:
	fld.d	$fs0, $sp, FRAME_FS0
	addi.d	$sp, $sp, FRAME
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
