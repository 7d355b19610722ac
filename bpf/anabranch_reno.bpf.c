/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reno (RFC 5681) as Linux has it: whole segments, half of the window after a loss. */
#include "anabranch.bpf.h"
#include "anabranch_formulas.bpf.h"

SEC("struct_ops/reno_init")
void BPF_PROG(reno_init, struct sock *sk)
{
	stop_pacing(sk);
}

SEC("struct_ops/reno_ssthresh")
u32 BPF_PROG(reno_ssthresh, struct sock *sk)
{
	return half_of(tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops/reno_cong_avoid")
void BPF_PROG(reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops/reno_undo_cwnd")
u32 BPF_PROG(reno_undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops anabranch_reno = {
	.init = (void *)reno_init,
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.undo_cwnd = (void *)reno_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "anabranch_reno",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
