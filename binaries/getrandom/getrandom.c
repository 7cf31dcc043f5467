/*
 * ssize_t NAME(void *buffer, size_t len, unsigned int flags, void *opaque_state, size_t opaque_len)
 *
 * The vDSO's getrandom (behaviour: Linux lib/vdso/getrandom.c): random bytes by fast key erasure from
 * a key that the kernel gives. The state is the caller's; it may be zeroed at any moment, by a fork or
 * when memory is short. Whatever cannot be served from it is left to the system call, with the
 * arguments as they came.
 *
 * The header of the architecture defines NAME, CHACHA20 (the symbol of the code of the block function)
 * and system_call. The command line defines PAGE_SIZE, the size of a page in bytes, and RNG_DATA, how
 * many bytes the kernel's data page lies in front of the image. Where the data are shared with those
 * for the time, it also defines CLOCK_MODE and RNG_DATA_INSIDE, how many bytes in front of the image
 * clock_mode lies, and inside a time namespace the data; and LINUX_VERSION, the code of a kernel that
 * has them so, which goes into a note. Nothing here may need a relocation or a library: the kernel
 * maps the image as it is.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned long word; /* of the machine: an address, a size, a general register */

#define INLINE static inline __attribute__((always_inline))
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORTED __attribute__((visibility("default")))

#include HEADER

#define EFAULT 14
#define INT_MAX 0x7fffffff

/* GRND_NONBLOCK, GRND_RANDOM, GRND_INSECURE */
#define KNOWN_FLAGS (1u | 2u | 4u)

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_DROPPABLE 0x08
#define MAP_ANONYMOUS 0x20

#define BLOCK 64
#define BATCH 96
#define REFILL_BLOCKS 2
#define ATTEMPTS 2

/* What no call gives more of than: the most that a read of Linux gives. */
#define MOST (INT_MAX & ~(PAGE_SIZE - 1))

/* The data page. The kernel counts `generation` up when it reseeds; it is never 0. */
struct rng_data {
	u64 generation;
	u8 is_ready;
};

/* The batch and the key are refilled together, by two blocks. The bytes of the batch before `pos`
   have been given out and are zero. The key belongs to `generation`. */
struct state {
	u8 batch[BATCH];
	u32 key[8];
	u64 generation;
	u8 pos;
	u8 in_use;
};

/* What the caller asks for to map memory for states. */
struct parameters {
	u32 state_size;
	u32 protection;
	u32 flags;
	u32 reserved[13];
};

HIDDEN void chacha20_blocks(u8 *to, const u32 *key, u32 *counter, word blocks) __asm__(CHACHA20);

/* An access that is made exactly here and once: others change what it reads, or read what it writes,
   between any two instructions. */
#define ONCE(object) (*(volatile __typeof__(object) *)&(object))

/* Every access in front of it is made before every access behind it, as this processor sees them. */
#define BARRIER() __asm__ volatile("" : : : "memory")

INLINE void describe(struct parameters *parameters)
{
	parameters->state_size = sizeof(struct state);
	parameters->protection = PROT_READ | PROT_WRITE;
	parameters->flags = MAP_DROPPABLE | MAP_ANONYMOUS;
	for (word i = 0; i < sizeof(parameters->reserved) / sizeof(parameters->reserved[0]); i++)
		parameters->reserved[i] = 0;
}

INLINE int straddles_a_page(const struct state *state)
{
	return ((word)state & (PAGE_SIZE - 1)) + sizeof(*state) > PAGE_SIZE;
}

/* Make the key belong to the present generation; returns whether it does. The generation is stored
   first: if the state is zeroed or copied by a fork from there on, it is seen to differ. */
INLINE int refresh(const struct rng_data *rng, struct state *state)
{
	u64 generation = ONCE(rng->generation);

	if (ONCE(state->generation) == generation)
		return 1;
	ONCE(state->generation) = generation;
	/* The kernel stores the generation last: the key that it gives from here on is as new. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (system_call(state->key, sizeof(state->key), 0) != (long)sizeof(state->key)) {
		ONCE(state->generation) = 0;
		return 0;
	}
	state->pos = BATCH;
	return 1;
}

/* Move up to `size` bytes out of the batch; returns how many there were. */
INLINE word take(struct state *state, u8 *to, word size)
{
	word pos = state->pos, count = BATCH - pos;

	if (count > size)
		count = size;
	for (word i = 0; i < count; i++) {
		to[i] = state->batch[pos + i];
		state->batch[pos + i] = 0;
	}
	state->pos = pos + count;
	return count;
}

/* Write `size` bytes of the stream: the rest of the batch, whole blocks, and what is still missing
   from a new batch, which comes with a new key. */
INLINE void generate(struct state *state, u8 *to, word size, u32 *counter)
{
	for (;;) {
		word count = take(state, to, size);

		to += count;
		size -= count;
		if (size == 0)
			return;
		count = size / BLOCK;
		if (count != 0) {
			chacha20_blocks(to, state->key, counter, count);
			to += count * BLOCK;
			size -= count * BLOCK;
		}
		chacha20_blocks(state->batch, state->key, counter, REFILL_BLOCKS);
		state->pos = 0;
	}
}

/* Serve the call from the state, which nobody uses; returns whether that was possible. What was
   generated counts only if the state still belongs to the present generation. */
INLINE int serve(const struct rng_data *rng, struct state *state, u8 *to, word size)
{
	u32 counter[2] = { 0, 0 };
	int served = 0;

	ONCE(state->in_use) = 1;
	for (int attempt = 0; attempt < ATTEMPTS && !served; attempt++) {
		if (!refresh(rng, state))
			break;
		generate(state, to, size, counter);
		BARRIER();
		served = ONCE(state->generation) == ONCE(rng->generation);
	}
	ONCE(state->in_use) = 0;
	return served;
}

INLINE long getrandom(const struct rng_data *rng, u8 *buffer, word len, u32 flags,
			     void *opaque_state, word opaque_len)
{
	struct state *state = opaque_state;
	word size = len < MOST ? len : MOST;

	if (opaque_len == ~0ul && buffer == 0 && len == 0 && flags == 0) {
		describe(opaque_state);
		return 0;
	}
	if (straddles_a_page(state))
		return -EFAULT;
	if ((flags & ~KNOWN_FLAGS) == 0 && opaque_len == sizeof(*state) && ONCE(rng->is_ready)) {
		if (len == 0)
			return 0;
		if (!ONCE(state->in_use) && serve(rng, state, buffer, size))
			return size;
	}
	return system_call(buffer, len, flags);
}

#ifdef ENTRY

/* Assembly is what is exported: it knows where the data page is, and how errors are returned. */
HIDDEN long ENTRY(void *buffer, word len, u32 flags, void *opaque_state, word opaque_len,
		  const struct rng_data *rng);

long ENTRY(void *buffer, word len, u32 flags, void *opaque_state, word opaque_len,
	   const struct rng_data *rng)
{
	return getrandom(rng, buffer, len, flags, opaque_state, opaque_len);
}

#else

/* The start of the image. */
HIDDEN extern const u8 __ehdr_start[];

#ifdef CLOCK_MODE

/* clock_mode on the page of a time namespace, which is where the data page is otherwise. */
#define TIME_NAMESPACE INT_MAX

__attribute__((section(".note.Linux"), used, aligned(4))) static const struct {
	u32 name_size, size, type;
	char name[8];
	u32 version;
} note = { sizeof("Linux"), sizeof(u32), 0, "Linux", LINUX_VERSION };

INLINE const struct rng_data *rng_data(void)
{
	u32 clock_mode = ONCE(*(const u32 *)(__ehdr_start - CLOCK_MODE));

	if (clock_mode == TIME_NAMESPACE)
		return (const struct rng_data *)(__ehdr_start - RNG_DATA_INSIDE);
	return (const struct rng_data *)(__ehdr_start - RNG_DATA);
}

#else

INLINE const struct rng_data *rng_data(void)
{
	return (const struct rng_data *)(__ehdr_start - RNG_DATA);
}

#endif

EXPORTED long NAME(void *buffer, word len, u32 flags, void *opaque_state, word opaque_len);

long NAME(void *buffer, word len, u32 flags, void *opaque_state, word opaque_len)
{
	return getrandom(rng_data(), buffer, len, flags, opaque_state, opaque_len);
}

#endif
