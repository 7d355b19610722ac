/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a congestion control in eBPF includes, instead of vmlinux.h and linux/bpf.h.
 *
 * The structs have the names and fields of Linux 6.18, but only the fields that congestion controls use, in an order of our own.
 * An object records every access by name (CO-RE). Linux relocates it to its own layout. The simulator relocates it to the
 * layout of this file, compiled to BTF: anabranch/programs/layout.btf.
 *
 * Times in fields are microseconds unless a comment says otherwise; jiffies are ticks of the kernel's clock (HZ a second).
 * The verifier of Linux 6.18 lets a program write: snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, app_limited, ecn_flags,
 * icsk_ca_priv, icsk_ack.pending, sk_pacing_rate and sk_pacing_status.
 */
#ifndef ANABRANCH_BPF_H
#define ANABRANCH_BPF_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* The kinds of maps that congestion controls use (uapi/linux/bpf.h). */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* Levels and options of bpf_setsockopt and bpf_getsockopt. */
enum { SOL_SOCKET = 1, SOL_TCP = 6 };
enum {
	SO_MAX_PACING_RATE = 47, /* bytes a second */
	TCP_CONGESTION = 13,
	TCP_BPF_IW = 1001, /* segments, before data was sent */
	TCP_BPF_SNDCWND_CLAMP = 1002, /* segments */
	TCP_BPF_DELACK_MAX = 1003, /* microseconds, 2 jiffies to 200 ms */
	TCP_BPF_RTO_MIN = 1004, /* microseconds, 2 jiffies to 200 ms */
};

/* State of loss recovery: icsk_ca_state. */
enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

/* Argument of cwnd_event. */
enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

/* Argument of in_ack_event, as bits. */
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

/* Second argument of cong_control, as bits (net/ipv4/tcp_input.c). */
enum {
	FLAG_DATA = 0x01, /* the segment carried data */
	FLAG_WIN_UPDATE = 0x02, /* it changed the receiver's window */
	FLAG_DATA_ACKED = 0x04, /* it acknowledged new data */
	FLAG_RETRANS_DATA_ACKED = 0x08, /* some of it had been retransmitted */
	FLAG_SYN_ACKED = 0x10,
	FLAG_DATA_SACKED = 0x20, /* it sacked new data */
	FLAG_ECE = 0x40, /* it carries ECE */
	FLAG_LOST_RETRANS = 0x80,
	FLAG_SLOWPATH = 0x100, /* it was not predicted */
	FLAG_ORIG_SACK_ACKED = 0x200,
	FLAG_SND_UNA_ADVANCED = 0x400,
	FLAG_DSACKING_ACK = 0x800,
	FLAG_SACK_RENEGING = 0x2000,
};

/* Bits of tcp_sock.ecn_flags. */
enum { TCP_ECN_OK = 1, TCP_ECN_QUEUE_CWR = 2, TCP_ECN_DEMAND_CWR = 4, TCP_ECN_SEEN = 8 };

/* Values of sock.sk_pacing_status. */
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, SK_PACING_FQ = 2 };

/* Values of tcp_sock.snd_ssthresh and sock.sk_pacing_rate that stand for "no bound". */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define SK_PACING_UNLIMITED (~0UL)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state; /* 1: established */
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate; /* bytes a second */
	unsigned long sk_max_pacing_rate; /* bytes a second */
	u32 sk_pacing_status;
	u8 sk_pacing_shift; /* a burst may last 2^-shift seconds */
	unsigned int sk_gso_max_size; /* bytes */
	u16 sk_gso_max_segs;
	int sk_wmem_queued; /* bytes */
	int sk_sndbuf; /* bytes */
	int sk_rcvbuf; /* bytes */
};

struct inet_sock {
	struct sock sk;
};

struct tcp_congestion_ops;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto; /* jiffies */
	__u32 icsk_rto_min; /* jiffies */
	u32 icsk_rto_max; /* jiffies */
	__u32 icsk_delack_max; /* jiffies */
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_ca_initialized : 1;
	__u8 icsk_ca_setsockopt : 1;
	__u8 icsk_ca_dst_locked : 1;
	__u8 icsk_retransmits;
	__u8 icsk_pending;
	__u8 icsk_backoff;
	struct {
		__u8 pending;
		__u8 quick;
		__u8 pingpong;
		__u8 retry;
		__u32 ato : 8; /* jiffies */
		__u32 lrcvtime; /* jiffies */
		__u16 last_seg_size; /* bytes */
		__u16 rcv_mss; /* bytes */
	} icsk_ack;
	u64 icsk_ca_priv[13]; /* the program's own 104 bytes */
};

/* A windowed minimum: the best three samples of the last seconds. */
struct minmax_sample {
	u32 t; /* jiffies */
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	/* The window, in segments. */
	u32 snd_cwnd;
	u32 snd_cwnd_cnt; /* segments acknowledged towards the next increase */
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_used;
	u32 snd_cwnd_stamp; /* jiffies */
	u32 snd_ssthresh;
	u32 prior_cwnd; /* before the last reduction */
	u32 prior_ssthresh;
	u32 prr_delivered;
	u32 prr_out;
	u32 max_packets_out;
	u32 cwnd_usage_seq;
	/* Bits lie as in Linux 6.18, because programs for vmlinux.h read them without relocating the shift. */
	u8 repair : 1;
	u8 tcp_usec_ts : 1;
	u8 is_sack_reneg : 1;
	u8 is_cwnd_limited : 1;
	/* Segments outstanding. */
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 lost; /* in all */
	u32 total_retrans;
	u32 reordering;
	u32 reord_seen;
	u32 dsack_dups;
	u32 delivered;
	u32 delivered_ce;
	u32 app_limited; /* 0, or the value of `delivered` up to which samples are limited by the application */
	/* Sequence numbers. */
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_wnd; /* bytes */
	u32 max_window; /* bytes */
	u32 rcv_nxt;
	u32 rcv_wnd; /* bytes */
	u32 copied_seq;
	u32 high_seq; /* snd_nxt when recovery began */
	u32 tlp_high_seq;
	u32 undo_marker;
	int undo_retrans;
	/* Segments and bytes in all. */
	u32 segs_out;
	u32 data_segs_out;
	u64 bytes_sent;
	u64 bytes_acked;
	u64 bytes_retrans;
	u32 segs_in;
	u32 data_segs_in;
	u64 bytes_received;
	/* Sizes. */
	u32 mss_cache; /* bytes */
	u16 advmss; /* bytes */
	u16 tcp_header_len; /* bytes */
	u8 ecn_flags;
	/* Round-trip times. */
	u32 srtt_us; /* eighths of a microsecond */
	u32 mdev_us; /* quarters of a microsecond */
	u32 rttvar_us; /* quarters of a microsecond */
	u32 rtt_seq;
	struct minmax rtt_min;
	struct {
		u32 rtt_us; /* eighths of a microsecond */
		u32 seq;
		u64 time;
	} rcv_rtt_est;
	/* Clocks and rate samples. */
	u64 tcp_clock_cache; /* nanoseconds */
	u64 tcp_mstamp;
	u64 tcp_wstamp_ns; /* nanoseconds: when the next paced segment may go */
	u32 lsndtime; /* jiffies */
	u32 retrans_stamp; /* milliseconds */
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 rate_delivered;
	u32 rate_interval_us;
};

/* Of an ACK; argument of pkts_acked. */
struct ack_sample {
	u32 pkts_acked; /* segments */
	s32 rtt_us; /* -1: no sample */
	u32 in_flight; /* bytes delivered since the newest acknowledged segment was sent */
};

/* Of an ACK; argument of cong_control. */
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered; /* segments */
	u32 prior_delivered_ce;
	s32 delivered; /* segments in interval_us; negative: no sample */
	s32 delivered_ce; /* of these, with marks */
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us; /* negative: no sample */
	int losses; /* segments newly marked as lost */
	u32 acked_sacked; /* segments newly delivered */
	u32 prior_in_flight; /* segments, before the ACK */
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

#pragma clang attribute pop

union tcp_cc_info;

/* Flags of tcp_congestion_ops. */
enum {
	TCP_CONG_NON_RESTRICTED = 1, /* users without privileges may choose it */
	TCP_CONG_NEEDS_ECN = 2,
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* Functions of the kernel that congestion controls may call. tcp_cong_avoid_ai divides by `w`: zero would crash the kernel. */
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;

/* A TCP socket begins with its sock. */
static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* The program's own bytes. */
static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}

/* A value of enum tcp_ca_state. */
static __always_inline u8 ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the window holds the sender back (RFC 7661). In slow start it also does until it is twice what was in flight. */
static __always_inline bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* For init: removes the pacing that the control of before may have asked for, as BBR does. The application's (SO_MAX_PACING_RATE) stays. */
static __always_inline void stop_pacing(struct sock *sk)
{
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	if (sk->sk_max_pacing_rate == SK_PACING_UNLIMITED && sk->sk_pacing_status == SK_PACING_NEEDED)
		sk->sk_pacing_status = SK_PACING_NONE;
}

/* Whether this ACK repeats the one before, as RFC 5681 defines a duplicate ACK; `flag` is cong_control's argument. */
static __always_inline bool is_duplicate_ack(int flag)
{
	return !(flag & (FLAG_DATA | FLAG_WIN_UPDATE | FLAG_DATA_ACKED | FLAG_SYN_ACKED | FLAG_SND_UNA_ADVANCED));
}

/* Segments in flight (RFC 6675's pipe). */
static __always_inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#endif
