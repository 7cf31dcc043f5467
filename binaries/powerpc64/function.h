/*
 * How a function begins and ends, and what a call names, in either ELF ABI of PowerPC 64.
 *
 * In ELFv1 (64-bit PowerPC ELF Application Binary Interface Supplement 1.9, 3.2.5) a function's name
 * is that of its descriptor: entry point, TOC base, environment; the code's name has a dot in
 * front. The linker script makes <name>_address the number that the entry point's address is. Nothing
 * here uses the TOC.
 */
#if ELF_VERSION == 1

#define CODE(name)	.name
#define TOC		0x8000

.macro function name
	.section .opd, "a", @progbits
	.p2align 3
	.globl	\name
	.type	\name, @function
\name:
	.quad	\name\()_address, TOC, 0
	.text
	.globl	.\name
	.hidden	.\name
	.type	.\name, @function
	.p2align 5
.\name:
.endm

.macro end_function name
	.size	.\name, . - .\name
	.size	\name, . - .\name
.endm

#else

#define CODE(name)	name

	.abiversion 2

.macro function name
	.text
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
.endm

.macro end_function name
	.size	\name, . - \name
.endm

#endif
