/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Makes a congestion control record its calls: clang -include trace.bpf.h my_cc.bpf.c. `anabranch congestion-control trace` reads
 * them.
 *
 * Every function writes the socket at its entry and at its exit, its arguments and its result to a ring buffer, in our
 * layout. The source does not change. A program at the function's entry (fentry) would need no compiler, but a locked-down Linux
 * refuses it.
 */
#include "anabranch.bpf.h"
#include "trace_fields.h"

/* A record of trace_file.py, after the name and the address of the socket. */
struct call {
	char program[32];
	u64 sock;
	u64 arguments[4];
	u64 result;
	u64 entry_time_ns;
	u64 exit_time_ns;
	u64 entry_jiffies;
	u64 exit_jiffies;
	u8 sample[RATE_SAMPLE_SIZE];
	u8 entry[TCP_SOCK_SIZE];
	u8 exit[TCP_SOCK_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} traced_calls SEC(".maps");

static __always_inline struct call *begin_call(struct sock *sk)
{
	struct call *call = bpf_ringbuf_reserve(&traced_calls, sizeof(*call), 0);

	if (!call)
		return 0;
	for (u32 word = 0; word < sizeof(*call) / 8; word++)
		((volatile u64 *)call)[word] = 0; /* volatile: the compiler would call memset, which eBPF lacks */
	call->sock = (u64)sk;
	save_tcp_sock(call->entry, tcp_sk(sk));
	call->entry_jiffies = bpf_jiffies64();
	call->entry_time_ns = bpf_ktime_get_ns();
	return call;
}

static __always_inline void end_call(struct call *call, struct sock *sk, u64 result)
{
	call->exit_time_ns = bpf_ktime_get_ns();
	call->exit_jiffies = bpf_jiffies64();
	call->result = result;
	save_tcp_sock(call->exit, tcp_sk(sk));
	bpf_ringbuf_submit(call, 0);
}

typedef void has_ack_sample(unsigned long long *, struct sock *, const struct ack_sample *);
typedef void has_rate_sample(unsigned long long *, struct sock *, u32, int, const struct rate_sample *);

#undef BPF_PROG
#define BPF_PROG(name, args...)                                                                                             \
	name(unsigned long long *ctx);                                                                                        \
	static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args);                                   \
	typeof(name(0)) name(unsigned long long *ctx)                                                                         \
	{                                                                                                                     \
		struct sock *socket = (struct sock *)ctx[0];                                                                  \
		struct call *call = begin_call(socket);                                                                       \
		u64 result;                                                                                                   \
		if (call) {                                                                                                   \
			__builtin_memcpy(call->program, #name, sizeof(#name) < 32 ? sizeof(#name) : 31);                \
			if (___bpf_narg(args) > 1)                                                                            \
				call->arguments[0] = ctx[1];                                                                  \
			if (___bpf_narg(args) > 2)                                                                            \
				call->arguments[1] = ctx[2];                                                                  \
			if (_Generic(&____##name, has_ack_sample *: 1, default: 0)) {                                         \
				save_ack_sample(call->sample, (const struct ack_sample *)ctx[1]);                             \
				call->arguments[0] = 0;                                                                       \
			}                                                                                                     \
			if (_Generic(&____##name, has_rate_sample *: 1, default: 0))                                          \
				save_rate_sample(call->sample, (const struct rate_sample *)ctx[3]);                           \
		}                                                                                                             \
		_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                                \
		result = __builtin_choose_expr(__builtin_types_compatible_p(typeof(name(0)), void),                           \
					       (____##name(___bpf_ctx_cast(args)), 0), ____##name(___bpf_ctx_cast(args)));    \
		_Pragma("GCC diagnostic pop")                                                                                      \
		if (call)                                                                                                     \
			end_call(call, socket, result);                                                                       \
		return (typeof(name(0)))result;                                                                               \
	}                                                                                                                     \
	static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args)
