/* What tests/compiled.rs calls: one operation for each way to reach fields, maps, variables and functions. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
#define OPERATION(name) SEC("struct_ops/" #name) u64 name(u64 *arguments)
#define FIELDS struct sock *sk = (struct sock *)arguments[0]

struct sock {
	u32 moved;
	u32 widened;
	int signed_one;
	u32 gone;
	u32 low : 3;
	u32 bits : 5;
	struct {
		u32 inner;
	};
} __attribute__((preserve_access_index));

enum state { OPEN___here = 1, ABSENT___here = 2 };

extern u64 CONFIG_HZ SEC(".kconfig");
extern u64 CONFIG_ABSENT __attribute__((weak)) SEC(".kconfig");
extern u64 provided(u64 a, u64 b) __attribute__((weak)) SEC(".ksyms");
extern u64 absent(void) __attribute__((weak)) SEC(".ksyms");

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*bpf_loop)(u64 count, void *function, void *context, u64 flags) = (void *)181;
static long (*bpf_ringbuf_output)(void *map, void *data, u64 size, u64 flags) = (void *)130;

struct {
	int (*type)[1]; /* BPF_MAP_TYPE_HASH */
	int (*max_entries)[3];
	u32 *key;
	u64 *value;
} table SEC(".maps");

struct {
	int (*type)[9]; /* BPF_MAP_TYPE_LRU_HASH */
	int (*max_entries)[3];
	u32 *key;
	u64 *value;
} recent SEC(".maps");

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[4096];
} ring SEC(".maps");

static const u64 weights[4] = { 10, 20, 30, 40 };
static u64 calls = 100;

OPERATION(moved)
{
	FIELDS;
	return sk->moved;
}

OPERATION(widened)
{
	FIELDS;
	return sk->widened;
}

OPERATION(signed_one)
{
	FIELDS;
	return sk->signed_one;
}

OPERATION(gone)
{
	FIELDS;
	return sk->gone;
}

OPERATION(inner)
{
	FIELDS;
	return sk->inner;
}

OPERATION(bits)
{
	FIELDS;
	u64 value = *(u32 *)((void *)sk + __builtin_preserve_field_info(sk->bits, 0));

	value <<= __builtin_preserve_field_info(sk->bits, 4);
	return value >> __builtin_preserve_field_info(sk->bits, 5);
}

OPERATION(existing)
{
	FIELDS;
	return __builtin_preserve_field_info(sk->moved, 2) + 2 * __builtin_preserve_field_info(sk->gone, 2) +
	       4 * __builtin_preserve_enum_value(*(enum state *)OPEN___here, 0) +
	       8 * __builtin_preserve_enum_value(*(enum state *)ABSENT___here, 0);
}

OPERATION(constants)
{
	return CONFIG_HZ + CONFIG_ABSENT;
}

OPERATION(functions)
{
	return (provided ? provided(0, 5) : 1000) + (absent ? absent() : 7);
}

static __attribute__((noinline)) u64 square(u64 x)
{
	return x * x + ++calls;
}

OPERATION(variables)
{
	return square(weights[arguments[1] & 3]);
}

static long add(u32 index, u64 *sum)
{
	*sum += index;
	return index == 9;
}

OPERATION(loop)
{
	u64 sum = 0;
	long iterations = bpf_loop(100, add, &sum, 0);

	return 1000 * sum + iterations;
}

OPERATION(loop_with_flags)
{
	u64 sum = 0;

	return bpf_loop(100, add, &sum, arguments[1]);
}

OPERATION(loop_of_32_bits)
{
	u64 sum = 0;

	return bpf_loop((1ull << 32) + 3, add, &sum, 0);
}

struct absent {
	u32 one;
} __attribute__((preserve_access_index));

OPERATION(types)
{
	return __builtin_preserve_type_info(*(struct absent *)0, 0) + 2 * __builtin_preserve_type_info(*(struct sock *)0, 0);
}

OPERATION(maps)
{
	u64 result = 0;

	for (u32 key = 0; key < 5; key++) {
		u64 value = 1 << key;
		if (bpf_map_update_elem(&table, &key, &value, 0))
			result += 100; /* the fourth and fifth find it full */
	}
	u32 key = 1;
	bpf_map_delete_elem(&table, &key);
	if (bpf_map_lookup_elem(&table, &key))
		result += 1000;
	key = 2;
	u64 *found = bpf_map_lookup_elem(&table, &key);
	return found ? result + *found : 0;
}

OPERATION(recent_keys)
{
	u64 result = 0;

	for (u32 step = 0; step < arguments[1] + 2; step++) {
		u32 key = step % (arguments[1] + 1);
		u64 value = step;
		result += 1 + bpf_map_update_elem(&recent, &key, &value, 0);
	}
	return result;
}

OPERATION(ring_buffer)
{
	return bpf_ringbuf_output(&ring, arguments, 8, 0);
}

struct operations {
	u64 (*moved)(struct sock *);
	u64 (*widened)(struct sock *);
	u64 (*signed_one)(struct sock *);
	u64 (*gone)(struct sock *);
	u64 (*inner)(struct sock *);
	u64 (*bits)(struct sock *);
	u64 (*existing)(struct sock *);
	u64 (*constants)(struct sock *);
	u64 (*functions)(struct sock *);
	u64 (*variables)(struct sock *, u32);
	u64 (*loop)(struct sock *);
	u64 (*loop_with_flags)(struct sock *, u64);
	u64 (*loop_of_32_bits)(struct sock *);
	u64 (*types)(struct sock *);
	u64 (*maps)(struct sock *);
	u64 (*recent_keys)(struct sock *, u32);
	u64 (*ring_buffer)(struct sock *);
};

SEC("?.struct_ops.link")
struct operations several = {
	.moved = (void *)moved,
	.widened = (void *)widened,
	.signed_one = (void *)signed_one,
	.gone = (void *)gone,
	.inner = (void *)inner,
	.bits = (void *)bits,
	.existing = (void *)existing,
	.constants = (void *)constants,
	.functions = (void *)functions,
	.variables = (void *)variables,
	.loop = (void *)loop,
	.loop_with_flags = (void *)loop_with_flags,
	.loop_of_32_bits = (void *)loop_of_32_bits,
	.types = (void *)types,
	.maps = (void *)maps,
	.recent_keys = (void *)recent_keys,
	.ring_buffer = (void *)ring_buffer,
};
char licence[] SEC("license") = "Dual MIT/GPL";
