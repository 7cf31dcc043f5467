/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for x86-64 with SSE2.
 *
 * Style: all twenty rounds written out, the state as four rows of four words; the key is read again
 * for the feed-forward, and the counter words live in the caller's memory and go up there by add and
 * adc; the block loop is tested at its head, by comparing pointers; rbx is saved by a push.
 */
#define DOUBLE_ROUNDS	10

#define dst	%rdi
#define key	%rsi
#define counter	%rdx
#define nblocks	%rcx
#define end	%rbx

#define row0	%xmm0
#define row1	%xmm1
#define row2	%xmm2
#define row3	%xmm3
#define scratch	%xmm4

.macro rotate x, amount
	movdqa	\x, scratch
	pslld	$\amount, \x
	psrld	$32 - \amount, scratch
	pxor	scratch, \x
.endm

/* Exchange the halves of each word. */
.macro rotate16 x
	pshuflw	$0xb1, \x, \x
	pshufhw	$0xb1, \x, \x
.endm

/* RFC 8439, 2.1, on the four columns at once. */
.macro quarter_rounds
	paddd	row1, row0
	pxor	row0, row3
	rotate16 row3
	paddd	row3, row2
	pxor	row2, row1
	rotate	row1, 12
	paddd	row1, row0
	pxor	row0, row3
	rotate	row3, 8
	paddd	row3, row2
	pxor	row2, row1
	rotate	row1, 7
.endm

/* Rotate the lanes of rows 1 to 3, each by one of DOWN1 to DOWN3. */
.macro turn down1, down2, down3
	pshufd	$\down1, row1, row1
	pshufd	$\down2, row2, row2
	pshufd	$\down3, row3, row3
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
	push	end
	mov	nblocks, end
	shl	$6, end
	add	dst, end

.Lblock:
	cmp	end, dst
	je	.Ldone
	movdqa	.Lconstants(%rip), row0
	movdqu	(key), row1
	movdqu	16(key), row2
	movq	(counter), row3

	.rept	DOUBLE_ROUNDS
	quarter_rounds
	turn	DOWN1, DOWN2, DOWN3
	quarter_rounds
	turn	DOWN3, DOWN2, DOWN1
	.endr

	/* The last block may overwrite the key: all of the key is read before the first store. */
	paddd	.Lconstants(%rip), row0
	movdqu	(key), scratch
	paddd	scratch, row1
	movdqu	16(key), scratch
	paddd	scratch, row2
	movq	(counter), scratch
	paddd	scratch, row3
	movdqu	row0, (dst)
	movdqu	row1, 16(dst)
	movdqu	row2, 32(dst)
	movdqu	row3, 48(dst)

	addl	$1, (counter)
	adcl	$0, 4(counter)
	add	$64, dst
	jmp	.Lblock

.Ldone:
	pxor	row0, row0
	pxor	row1, row1
	pxor	row2, row2
	pxor	row3, row3
	pop	end
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
