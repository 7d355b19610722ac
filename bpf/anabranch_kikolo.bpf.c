/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Kikolo (Kiryowa, Granelli and Kliazovich, "TCP Kikolo for Performance Improvement in High-speed Networks in Presence of Packet
 * Losses"), with the readings that the simulator's `kikolo` has by default.
 *
 * Four states: S0 and S3 after a congestion signal, S1 and S2 after an ACK. cong_control sees duplicate ACKs; no other callback
 * does. Differences from the simulator's `kikolo`:
 * - The window after a reduction, ssthresh and the window in slow start are whole segments, rounded down.
 * - Linux decides when a loss is the congestion signal. The paper's second duplicate ACK is the sysctl net.ipv4.tcp_reordering=2
 *   without RACK: net.ipv4.tcp_recovery=0.
 * - The window shrinks at once when recovery begins. Nothing is sent until the segments in flight are fewer: Linux leaves the window
 *   to cong_control, and its proportional rate reduction does not run.
 * - Slow start is Linux's, without HyStart.
 * - The window stays as it is after a pause of the application, as Linux restarts no window of cong_control.
 */
#include "anabranch.bpf.h"
#include "anabranch_formulas.bpf.h"

enum { S0, S1, S2, S3 };

struct kikolo {
	u64 signalled; /* microseconds: when the last congestion signal came */
	u64 last_loss; /* 2^-16 segments: the window at which the last loss came */
	u64 last_loss_before; /* the same, before the last reduction, which may be undone */
	u32 fraction; /* 2^-16 segments */
	u32 state;
};

static __always_inline u64 window_of(const struct tcp_sock *tp, const struct kikolo *kikolo)
{
	return ((u64)tp->snd_cwnd << 16) + kikolo->fraction;
}

SEC("struct_ops/kikolo_init")
void BPF_PROG(kikolo_init, struct sock *sk)
{
	struct kikolo *kikolo = inet_csk_ca(sk);

	*kikolo = (struct kikolo){ .last_loss = ~0ULL, .last_loss_before = ~0ULL, .state = S0 };
	stop_pacing(sk);
}

static __always_inline void grow(struct tcp_sock *tp, struct kikolo *kikolo, u32 acked)
{
	bool grows = kikolo->state == S1 || kikolo->state == S2;
	bool is_refined;
	u64 window;

	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (!acked || !grows)
		return;
	window = window_of(tp, kikolo);
	is_refined = kikolo->state == S2 && window > kikolo->last_loss;
	window += kikolo_increase(window, kikolo_region(window, tp->snd_ssthresh), is_refined, acked);
	tp->snd_cwnd = min((u32)(window >> 16), tp->snd_cwnd_clamp);
	kikolo->fraction = window & 0xffff;
}

SEC("struct_ops/kikolo_cong_control")
void BPF_PROG(kikolo_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct kikolo *kikolo = inet_csk_ca(sk);
	u8 recovery = ca_state(sk);

	if (flag & FLAG_SND_UNA_ADVANCED) {
		if (recovery != TCP_CA_Recovery && recovery != TCP_CA_CWR)
			grow(tp, kikolo, rs->acked_sacked);
		kikolo->state = kikolo->state == S0 ? S1 : S2;
	} else if (is_duplicate_ack(flag) && kikolo->state == S3 && tp->tcp_mstamp > kikolo->signalled) {
		kikolo->state = S0;
	}
}

SEC("struct_ops/kikolo_ssthresh")
u32 BPF_PROG(kikolo_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct kikolo *kikolo = inet_csk_ca(sk);
	u64 window = window_of(tp, kikolo);

	kikolo->last_loss_before = kikolo->last_loss;
	kikolo->last_loss = window;
	kikolo->fraction = 0;
	return kikolo_reduced(window, kikolo_region(window, tp->snd_ssthresh));
}

/* The congestion signal: Linux has just set snd_ssthresh to the reduced window. After a timeout it sets the window itself. */
SEC("struct_ops/kikolo_set_state")
void BPF_PROG(kikolo_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct kikolo *kikolo = inet_csk_ca(sk);

	if (new_state != TCP_CA_Recovery && new_state != TCP_CA_CWR)
		return;
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_ssthresh);
	kikolo->signalled = tp->tcp_mstamp;
	kikolo->state = kikolo->state == S0 || kikolo->state == S1 ? S0 : S3;
}

SEC("struct_ops/kikolo_undo_cwnd")
u32 BPF_PROG(kikolo_undo_cwnd, struct sock *sk)
{
	struct kikolo *kikolo = inet_csk_ca(sk);

	kikolo->last_loss = kikolo->last_loss_before;
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops anabranch_kikolo = {
	.init = (void *)kikolo_init,
	.ssthresh = (void *)kikolo_ssthresh,
	.cong_control = (void *)kikolo_cong_control,
	.set_state = (void *)kikolo_set_state,
	.undo_cwnd = (void *)kikolo_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kikolo", /* at most 15 characters */
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
