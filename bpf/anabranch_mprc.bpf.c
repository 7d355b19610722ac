/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* MPRC (Chang 2024): NewReno's growth, half of the window after a timeout too, and a low floor of the RTO.
 *
 * Detection by time alone needs these sysctls as well, for duplicate ACKs and SACK to trigger nothing: net.ipv4.tcp_sack=0,
 * tcp_dsack=0, tcp_reordering=1000000 (in the range of tcp_max_reordering), tcp_early_retrans=0 and tcp_frto=0.
 *
 * What Linux 6.18 forces to differ from the thesis:
 * - The timeout is SRTT + max(4 RTTVAR, floor) with the filters of RFC 6298, not FastRTO: no gamma, no growth of K with the diversity
 *   of RTTs, and no bound of 500 ms. TCP_BPF_RTO_MIN sets the floor, at least 8 ms here, or 20 ms with HZ = 100; Linux rounds it up to its ticks.
 * - The timer runs for the oldest segment and restarts at every ACK. FastRTO is the age of each segment.
 * - A timeout marks every segment in flight as lost, so that Linux sends all of them again. FastRTO resends only those that
 *   are old.
 * - The receiver's delayed ACKs, up to 40 ms, may outlast the timeout where RTTs are short. The sender cannot switch them off.
 * - After more duplicate ACKs than segments are outstanding, Linux lowers tcp_reordering to these, and duplicate ACKs make losses again.
 * - Each further timeout without an ACK between doubles the RTO. FastRTO doubles only while nothing is delivered.
 *
 * What this program does by choice: it halves the window again for a further timeout of the same window of data if segments were
 * acknowledged since the timeout before. The thesis (chapter 4) reduces nothing then. But Linux sends the whole window again at each
 * timeout. Without the second halving, queues that are full stay full, and more is sent in vain.
 */
#include "anabranch.bpf.h"
#include "anabranch_formulas.bpf.h"

/* Microseconds: two ticks, the least that bpf_setsockopt takes, with HZ = 250 and with HZ = 100. */
enum { RTO_FLOOR = 8000, RTO_FLOOR_100_HZ = 20000 };

struct mprc {
	u32 reduced; /* segments: the window after the last reduction */
};

SEC("struct_ops/mprc_init")
void BPF_PROG(mprc_init, struct sock *sk)
{
	struct mprc *mprc = inet_csk_ca(sk);
	int floor = RTO_FLOOR;

	mprc->reduced = 0;
	stop_pacing(sk);
	if (bpf_setsockopt(sk, SOL_TCP, TCP_BPF_RTO_MIN, &floor, sizeof(floor))) {
		floor = RTO_FLOOR_100_HZ;
		bpf_setsockopt(sk, SOL_TCP, TCP_BPF_RTO_MIN, &floor, sizeof(floor));
	}
}

SEC("struct_ops/mprc_cong_avoid")
void BPF_PROG(mprc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
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

/* Linux calls it once for a window of data, and again for a timeout in it behind an ACK of new data (tcp_enter_loss). */
SEC("struct_ops/mprc_ssthresh")
u32 BPF_PROG(mprc_ssthresh, struct sock *sk)
{
	struct mprc *mprc = inet_csk_ca(sk);

	mprc->reduced = half_of(tcp_sk(sk)->snd_cwnd);
	return mprc->reduced;
}

/* Linux has just set the window to one segment more than is in flight, which is nothing. */
SEC("struct_ops/mprc_set_state")
void BPF_PROG(mprc_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mprc *mprc = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		tp->snd_cwnd = max(tp->snd_cwnd, mprc->reduced);
}

SEC("struct_ops/mprc_undo_cwnd")
u32 BPF_PROG(mprc_undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops anabranch_mprc = {
	.init = (void *)mprc_init,
	.ssthresh = (void *)mprc_ssthresh,
	.cong_avoid = (void *)mprc_cong_avoid,
	.set_state = (void *)mprc_set_state,
	.undo_cwnd = (void *)mprc_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "mprc",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
