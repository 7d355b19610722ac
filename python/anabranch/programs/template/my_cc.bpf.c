/* my_cc: as it stands, the window grows as Reno's does and keeps 70 % after a loss. Change it.
 *
 * anabranch.bpf.h has the fields of sockets and samples, the states and events, and the functions of Linux that a congestion control may
 * call. Windows are in segments. eBPF has no floating point: count in fractions such as 1/1024.
 */
#include "anabranch.bpf.h"

/* The state of one flow, at most 104 bytes; zero at first. */
struct my_cc {
	u32 losses;
};

enum {
	GROWTH = 1, /* segments a round trip */
	REMAINDER = 70, /* percent of the window after a loss */
};

/* A connection begins. */
SEC("struct_ops/my_cc_init")
void BPF_PROG(my_cc_init, struct sock *sk)
{
	struct my_cc *my = inet_csk_ca(sk);

	*my = (struct my_cc){};
	stop_pacing(sk);
}

/* An ACK acknowledged `acked` segments, and no recovery is in progress. */
SEC("struct_ops/my_cc_cong_avoid")
void BPF_PROG(my_cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* One segment more for this number of acknowledged ones. Zero would crash Linux, which divides by it. */
	tcp_cong_avoid_ai(tp, (tp->snd_cwnd + GROWTH - 1) / GROWTH, acked);
}

/* A loss, a timeout or a congestion mark: returns the window to continue with. */
SEC("struct_ops/my_cc_ssthresh")
u32 BPF_PROG(my_cc_ssthresh, struct sock *sk)
{
	struct my_cc *my = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd * REMAINDER / 100;

	my->losses++;
	return window < 2 ? 2 : window;
}

/* The loss was none: returns the window to go back to. */
SEC("struct_ops/my_cc_undo_cwnd")
u32 BPF_PROG(my_cc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops my_cc = {
	.init = (void *)my_cc_init,
	.cong_avoid = (void *)my_cc_cong_avoid,
	.ssthresh = (void *)my_cc_ssthresh,
	.undo_cwnd = (void *)my_cc_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "my_cc",
};

char LICENSE[] SEC("license") = "GPL"; /* Linux loads no other; "Dual MIT/GPL" also counts */
