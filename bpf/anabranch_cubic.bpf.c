/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* CUBIC (RFC 9438), an example to copy.
 *
 * It has the curve, the Reno-friendly region and fast convergence. Time is tp->tcp_mstamp, the time of the ACK.
 *
 * Differences from RFC 9438. Linux has the second to the fourth, too:
 * - Slow start is RFC 5681's, without HyStart (section 4.10).
 * - Reno's window keeps its slope above the window of the last loss, where the RFC has one segment a round trip (section 4.3).
 * - A reduction takes its share of the window, not of the segments in flight (section 4.6).
 * - An undone reduction restores the window, but not the curve (section 4.9).
 */
#include "anabranch.bpf.h"
#include "anabranch_formulas.bpf.h"

/* One for each socket, in its 104 private bytes, which are zero before init. */
struct cubic {
	u64 epoch_start; /* microseconds; 0: no congestion avoidance since the last loss */
	u64 last_ack; /* microseconds */
	u32 w_max; /* segments */
	u32 k; /* 1/1024 s */
	u32 origin; /* segments: where the curve is flat */
	u32 min_rtt_us; /* 0: no sample yet */
	u32 reno_window; /* segments */
	u32 reno_acked; /* segments acknowledged towards the next increase of reno_window */
};
_Static_assert(sizeof(struct cubic) <= 104, "icsk_ca_priv has 104 bytes");

SEC("struct_ops/cubic_init")
void BPF_PROG(cubic_init, struct sock *sk)
{
	struct cubic *cubic = inet_csk_ca(sk);

	*cubic = (struct cubic){};
	stop_pacing(sk);
}

SEC("struct_ops/cubic_pkts_acked")
void BPF_PROG(cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cubic *cubic = inet_csk_ca(sk);

	cubic->last_ack = tcp_sk(sk)->tcp_mstamp;
	if (sample->rtt_us > 0 && (!cubic->min_rtt_us || sample->rtt_us < cubic->min_rtt_us))
		cubic->min_rtt_us = sample->rtt_us;
}

/* A new stage of congestion avoidance (section 4.2). */
static __always_inline void begin_epoch(struct cubic *cubic, u64 now, u32 cwnd)
{
	cubic->epoch_start = now;
	cubic->k = cubic_k(cubic->w_max, cwnd);
	cubic->origin = max(cubic->w_max, cwnd);
	cubic->reno_window = cwnd;
	cubic->reno_acked = 0;
}

/* Follows Reno's window (section 4.3); one step suffices, as an ACK acknowledges less than a window. */
static __always_inline void follow_reno(struct cubic *cubic, u32 cwnd, u32 acked)
{
	u32 per_increase = cubic_segments_per_reno_increase(cwnd);

	cubic->reno_acked += acked;
	if (cubic->reno_acked >= per_increase) {
		cubic->reno_acked -= per_increase;
		cubic->reno_window += 1;
	}
}

SEC("struct_ops/cubic_cong_avoid")
void BPF_PROG(cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *cubic = inet_csk_ca(sk);
	u64 now = tp->tcp_mstamp;
	u32 cwnd, elapsed, target;

	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cwnd = tp->snd_cwnd;
	if (!cubic->epoch_start)
		begin_epoch(cubic, now, cwnd);
	elapsed = (now - cubic->epoch_start + cubic->min_rtt_us) * CUBIC_SECOND / 1000000;
	follow_reno(cubic, cwnd, acked);
	target = max(cubic_window(elapsed, cubic->k, cubic->origin), cubic->reno_window);
	tcp_cong_avoid_ai(tp, cubic_segments_per_increase(cwnd, target), acked);
}

SEC("struct_ops/cubic_ssthresh")
u32 BPF_PROG(cubic_ssthresh, struct sock *sk)
{
	struct cubic *cubic = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	cubic->epoch_start = 0;
	cubic->w_max = cubic_w_max(cwnd, cubic->w_max);
	return max((u32)((u64)cwnd * CUBIC_BETA / 1024), MIN_SSTHRESH);
}

SEC("struct_ops/cubic_set_state")
void BPF_PROG(cubic_set_state, struct sock *sk, u8 new_state)
{
	struct cubic *cubic = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss) { /* a timeout: what was known of the path may no longer hold (section 4.8) */
		cubic->w_max = 0;
		cubic->min_rtt_us = 0;
	}
}

/* The curve does not go on while the application is idle (section 5.8). A small window has nothing in flight after every ACK. */
SEC("struct_ops/cubic_cwnd_event")
void BPF_PROG(cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cubic *cubic = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START && cubic->epoch_start)
		cubic->epoch_start += tcp_sk(sk)->tcp_mstamp - cubic->last_ack;
}

SEC("struct_ops/cubic_undo_cwnd")
u32 BPF_PROG(cubic_undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops anabranch_cubic = {
	.init = (void *)cubic_init,
	.ssthresh = (void *)cubic_ssthresh,
	.cong_avoid = (void *)cubic_cong_avoid,
	.pkts_acked = (void *)cubic_pkts_acked,
	.set_state = (void *)cubic_set_state,
	.cwnd_event = (void *)cubic_cwnd_event,
	.undo_cwnd = (void *)cubic_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "anabranch_cubic",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
