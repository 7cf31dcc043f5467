/*
 * Runs pieces of machine code under an emulator, each from a given state of registers and memory,
 * and reports the state in which it stops. No C library.
 *
 * Code is entered and left by signals, so that every register can be set and read, with none used
 * to get there: `enter` loads the floating registers and traps; the handler puts the wanted general
 * registers and program counter into the signal frame; whatever stops the code (the trap at the
 * return address, a fault, the timer) brings it back to the handler, which notes all registers and
 * lets `enter` return.
 *
 * Request on standard input, in words of 64 bits in the byte order of the machine, also where its
 * own words have 32:
 *   number of code pages ranges; for each: address, size, bytes (whole pages)
 *   time limit of a case in microseconds, number of cases; for each case:
 *     general and floating registers (the order is in <architecture>.h)
 *     number of data ranges; for each: address, size (whole pages; zero-filled)
 *     number of contents; for each: address, size, bytes
 *     number of observations; for each: address, size
 * Answer on standard output, for each case:
 *     signal (0: returned to RETURN_ADDRESS), fault address, general and floating registers,
 *     the bytes of the observations
 */
#include HEADER

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned long word; /* of the machine: an address, a size, a general register */

#ifndef RETURN_ADDRESS
#define RETURN_ADDRESS 0x0f8000000000
#endif

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_FLAGS (0x02 | 0x10 | 0x20) /* private, fixed, anonymous */
#define SA_SIGINFO 4UL
#define SA_ONSTACK 0x08000000UL
#define ITIMER_REAL 0
#define EINTR 4

#define SIGILL 4
#define SIGTRAP 5
#define SIGBUS 7
#define SIGFPE 8
#define SIGSEGV 11
#define SIGALRM 14

/* Whether the program counter is that of the next instruction, the address that of the one that
   raised the signal. */
#ifndef GOES_ON
#define GOES_ON(signal) 0
#endif

#define PAGE 0x4000
#define MAX_RANGES 64

#define BAD_REQUEST 2
#define NO_MEMORY 3
#define LOST 4

struct context {
	u64 general[GENERAL_WORDS];
	u64 floating[FLOATING_WORDS];
};

struct range {
	u64 address;
	u64 size;
};

long system_call(long a, long b, long c, long d, long e, long f, long number);
void signal_entry(int signal, void *info, void *frame);
void enter(const u64 *floating);

static enum { IDLE, ENTERING, RUNNING } phase;
static struct context wanted __attribute__((aligned(16)));
struct context seen __attribute__((aligned(16)));
static word resume[GENERAL_WORDS];
static u64 stop_signal, fault_address;

static u8 signal_stack[0x10000];
static u8 input[0x10000], output[0x10000];
static u64 input_used, input_size, output_size;

static _Noreturn void leave(long status)
{
	for (;;)
		system_call(status, 0, 0, 0, 0, 0, SYS_EXIT_GROUP);
}

static word *register_place(void *frame, int number)
{
	return (word *)((u8 *)frame + PLACE(number));
}

static u64 info_address(const void *info)
{
	/* Behind three ints, aligned. */
	return ((const word *)info)[(3 * sizeof(int) + sizeof(word) - 1) / sizeof(word)];
}

/* Called by signal_entry, which has stored the floating registers into `seen`. */
void handle(int signal, void *info, void *frame)
{
	switch (phase) {
	case IDLE:
		if (signal != SIGALRM)
			leave(LOST);
		return;
	case ENTERING:
		if (signal == SIGALRM)
			return;
		if (signal != TRAP_SIGNAL)
			leave(LOST);
		for (int i = 0; i < GENERAL_WORDS; i++) {
			resume[i] = *register_place(frame, i);
			*register_place(frame, i) = (word)wanted.general[i];
		}
		phase = RUNNING;
		return;
	case RUNNING:
		for (int i = 0; i < GENERAL_WORDS; i++) {
			seen.general[i] = *register_place(frame, i);
			*register_place(frame, i) = resume[i];
		}
		*register_place(frame, PC) += 4;
		if (GOES_ON(signal))
			seen.general[PC] = info_address(info);
		stop_signal = seen.general[PC] == RETURN_ADDRESS ? 0 : (u64)signal;
		fault_address = info_address(info);
		phase = IDLE;
		return;
	}
}

static void fill_input(void)
{
	long got;

	do {
		got = system_call(0, (long)input, sizeof(input), 0, 0, 0, SYS_READ);
	} while (got == -EINTR);
	if (got <= 0)
		leave(BAD_REQUEST);
	input_used = 0;
	input_size = (u64)got;
}

static void take(u8 *to, u64 size)
{
	while (size--) {
		if (input_used == input_size)
			fill_input();
		*to++ = input[input_used++];
	}
}

static u64 take_word(void)
{
	u64 taken;

	take((u8 *)&taken, sizeof(taken));
	return taken;
}

static void flush_output(void)
{
	u64 done = 0;

	while (done < output_size) {
		long put = system_call(1, (long)(output + done), (long)(output_size - done), 0, 0, 0,
				       SYS_WRITE);
		if (put < 0 && put != -EINTR)
			leave(LOST);
		if (put > 0)
			done += (u64)put;
	}
	output_size = 0;
}

static void give(const u8 *from, u64 size)
{
	while (size--) {
		if (output_size == sizeof(output))
			flush_output();
		output[output_size++] = *from++;
	}
}

static void give_word(u64 given)
{
	give((const u8 *)&given, sizeof(given));
}

static void map(struct range range)
{
	long got = system_call((long)range.address, (long)range.size, PROT_READ | PROT_WRITE,
			       MAP_FLAGS, -1, 0, SYS_MMAP);
	if ((word)got != (word)range.address)
		leave(NO_MEMORY);
}

static void make_code(struct range range)
{
	system_call((long)range.address, (long)range.size, PROT_READ | PROT_EXEC, 0, 0, 0,
		    SYS_MPROTECT);
}

static struct range take_range(void)
{
	struct range range;

	range.address = take_word();
	range.size = take_word();
	return range;
}

static u64 take_count(void)
{
	u64 count = take_word();

	if (count > MAX_RANGES)
		leave(BAD_REQUEST);
	return count;
}

static void set_timer(u64 microseconds)
{
	word seconds = (word)microseconds / 1000000, rest = (word)microseconds % 1000000;
	word timer[4] = { seconds, rest, seconds, rest };

	system_call(ITIMER_REAL, (long)timer, 0, 0, 0, 0, SYS_SETITIMER);
}

static void run_case(u64 limit)
{
	static struct range data[MAX_RANGES], observed[MAX_RANGES];
	u64 data_count, contents, observations;

	take((u8 *)&wanted, sizeof(wanted));
	data_count = take_count();
	for (u64 i = 0; i < data_count; i++) {
		data[i] = take_range();
		map(data[i]);
	}
	contents = take_count();
	while (contents--) {
		struct range range = take_range();
		take((u8 *)(word)range.address, range.size);
	}
	observations = take_count();
	for (u64 i = 0; i < observations; i++)
		observed[i] = take_range();

	set_timer(limit);
	phase = ENTERING;
	enter(wanted.floating);
	set_timer(0);

	give_word(stop_signal);
	give_word(fault_address);
	give((const u8 *)&seen, sizeof(seen));
	for (u64 i = 0; i < observations; i++)
		give((const u8 *)(word)observed[i].address, observed[i].size);
	for (u64 i = 0; i < data_count; i++)
		system_call((long)data[i].address, (long)data[i].size, 0, 0, 0, 0, SYS_MUNMAP);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGALRM };
	struct {
		void *base;
		int flags;
		word size;
	} stack = { signal_stack, 0, sizeof(signal_stack) };
	struct sigaction action = { 0 };

	action.handler = signal_entry;
	action.flags = SA_SIGINFO | SA_ONSTACK;
	for (word i = 0; i < sizeof(action.mask); i++)
		((u8 *)&action.mask)[i] = 0xff;
#ifdef SA_RESTORER
	action.flags |= SA_RESTORER;
	action.restorer = signal_restorer;
#endif
	system_call((long)&stack, 0, 0, 0, 0, 0, SYS_SIGALTSTACK);
	for (u64 i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		system_call(signals[i], (long)&action, 0, sizeof(action.mask), 0, 0,
			    SYS_RT_SIGACTION);
}

_Noreturn void run(void)
{
	struct range pad = { RETURN_ADDRESS, PAGE };
	u64 limit, cases;

	catch_signals();
	map(pad);
	*(u32 *)RETURN_ADDRESS = TRAP_INSTRUCTION;
	make_code(pad);
	for (u64 count = take_count(); count--;) {
		struct range code = take_range();
		map(code);
		take((u8 *)(word)code.address, code.size);
		make_code(code);
	}
	limit = take_word();
	for (cases = take_word(); cases--;)
		run_case(limit);
	flush_output();
	leave(0);
}
