/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for LoongArch LP64
 * with LSX, vectors of 128 bits.
 *
 * Style: all twenty rounds written out, the state as four rows of four words; the lanes of a row
 * are turned by shuffles with a register of lane numbers; the key is read again for the
 * feed-forward, and the counter words live in the caller's memory and go up there after each
 * block; the block loop is tested at its head, by comparing pointers. No stack.
 */
#define DOUBLE_ROUNDS	10

#define dst	$a0
#define key	$a1
#define counter	$a2
#define end	$a3
#define low	$t0
#define high	$t1
#define carry	$t2

#define row0	$vr8
#define row1	$vr9
#define row2	$vr10
#define row3	$vr11
#define constants	$vr12
#define count	$vr13
#define scratch	$vr14
#define numbers1	$vr15
#define numbers2	$vr16
#define numbers3	$vr17

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
	vrotri.w	row1, row1, 32 - 7
.endm

/* Choose the bytes of a row by their numbers. */
.macro turn row, numbers
	vshuf.b	\row, \row, \row, \numbers
.endm

	.section .rodata
	.p2align 4
.Lconstants:
	.long	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
.Lnumbers:
	.byte	4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3
	.byte	8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
	.byte	12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11

	.text
	.globl	__arch_chacha20_blocks_nostack
	.hidden	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
	.p2align 5
__arch_chacha20_blocks_nostack:
	slli.d	end, $a3, 6
	add.d	end, end, dst
	la.local	low, .Lconstants
	vld	constants, low, 0
	vld	numbers1, low, 16
	vld	numbers2, low, 32
	vld	numbers3, low, 48

.Lblock:
	beq	dst, end, .Ldone
	vori.b	row0, constants, 0
	vld	row1, key, 0
	vld	row2, key, 16
	vldrepl.w	count, counter, 0
	vldrepl.w	row3, counter, 4
	vpackev.w	count, row3, count
	vbsrl.v	count, count, 8
	vori.b	row3, count, 0

	.rept	DOUBLE_ROUNDS
	quarter_rounds
	turn	row1, numbers1
	turn	row2, numbers2
	turn	row3, numbers3
	quarter_rounds
	turn	row1, numbers3
	turn	row2, numbers2
	turn	row3, numbers1
	.endr

	/* The last block may overwrite the key: all of the key is read before the first store. */
	vadd.w	row0, row0, constants
	vld	scratch, key, 0
	vadd.w	row1, row1, scratch
	vld	scratch, key, 16
	vadd.w	row2, row2, scratch
	vadd.w	row3, row3, count

	vst	row0, dst, 0
	vst	row1, dst, 16
	vst	row2, dst, 32
	vst	row3, dst, 48

	/* The low word is zero after the increment exactly when it carries. */
	vpickve2gr.w	low, count, 0
	vpickve2gr.w	high, count, 1
	addi.w	low, low, 1
	sltui	carry, low, 1
	add.w	high, high, carry
	st.w	low, counter, 0
	st.w	high, counter, 4
	addi.d	dst, dst, 64
	b	.Lblock

.Ldone:
	vxor.v	row0, row0, row0
	vxor.v	row1, row1, row1
	vxor.v	row2, row2, row2
	vxor.v	row3, row3, row3
	vxor.v	scratch, scratch, scratch
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
