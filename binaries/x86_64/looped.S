/*
 * void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)
 *
 * ChaCha20 (RFC 8439, 2.1 to 2.4) with a 64-bit block counter and a zero nonce, for x86-64 with SSE2.
 *
 * Style: one double round per iteration, the state as four rows of four words; the key stays in
 * two registers, the counter in the two low words of another; blocks are counted down. No stack.
 */
#define DOUBLE_ROUNDS	10
#define LAST_ROTATION	7

#define dst	%rdi
#define key	%rsi
#define counter	%rdx
#define nblocks	%rcx
#define rounds	%r8d

#define row0	%xmm0
#define row1	%xmm1
#define row2	%xmm2
#define row3	%xmm3
#define key0	%xmm4
#define key1	%xmm5
#define constants	%xmm6
#define count	%xmm7
#define scratch	%xmm8
#define one	%xmm9

.macro rotate x, amount
	movdqa	\x, scratch
	pslld	$\amount, \x
	psrld	$32 - \amount, scratch
	por	scratch, \x
.endm

/* RFC 8439, 2.1, on the four columns at once. */
.macro quarter_rounds
	paddd	row1, row0
	pxor	row0, row3
	rotate	row3, 16
	paddd	row3, row2
	pxor	row2, row1
	rotate	row1, 12
	paddd	row1, row0
	pxor	row0, row3
	rotate	row3, 8
	paddd	row3, row2
	pxor	row2, row1
	rotate	row1, LAST_ROTATION
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
	movdqa	.Lconstants(%rip), constants
	movdqu	(key), key0
	movdqu	16(key), key1
	movq	(counter), count
	mov	$1, %eax
	movq	%rax, one
.Lkey_loaded:

.Lblock:
	movdqa	constants, row0
	movdqa	key0, row1
	movdqa	key1, row2
	movdqa	count, row3

	mov	$DOUBLE_ROUNDS, rounds
.Lround:
	quarter_rounds
	turn	DOWN1, DOWN2, DOWN3
	quarter_rounds
	turn	DOWN3, DOWN2, DOWN1
	sub	$1, rounds
	jnz	.Lround

	paddd	constants, row0
	paddd	key0, row1
	paddd	key1, row2
	paddd	count, row3
	movdqu	row0, (dst)
	movdqu	row1, 16(dst)
	movdqu	row2, 32(dst)
	movdqu	row3, 48(dst)
.Lstored:

	paddq	one, count
	add	$64, dst
	sub	$1, nblocks
	jnz	.Lblock
.Lblocks_done:

	movq	count, (counter)
.Lcounter_stored:
	pxor	row0, row0
	pxor	row1, row1
	pxor	row2, row2
	pxor	row3, row3
	pxor	key0, key0
	pxor	key1, key1
	pxor	scratch, scratch
.Lwiped:
.Lreturn:
	ret
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
