/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Written by trace_fields.py from layout.btf. */

enum { TCP_SOCK_SIZE = 536 };

static __always_inline void save_tcp_sock(u8 *to, const struct tcp_sock *from)
{
	*(u16 *)(to + 0) = from->inet_conn.icsk_inet.sk.__sk_common.skc_family;
	*(u8 *)(to + 2) = from->inet_conn.icsk_inet.sk.__sk_common.skc_state;
	*(u64 *)(to + 8) = from->inet_conn.icsk_inet.sk.sk_pacing_rate;
	*(u64 *)(to + 16) = from->inet_conn.icsk_inet.sk.sk_max_pacing_rate;
	*(u32 *)(to + 24) = from->inet_conn.icsk_inet.sk.sk_pacing_status;
	*(u8 *)(to + 28) = from->inet_conn.icsk_inet.sk.sk_pacing_shift;
	*(u32 *)(to + 32) = from->inet_conn.icsk_inet.sk.sk_gso_max_size;
	*(u16 *)(to + 36) = from->inet_conn.icsk_inet.sk.sk_gso_max_segs;
	*(u32 *)(to + 40) = from->inet_conn.icsk_inet.sk.sk_wmem_queued;
	*(u32 *)(to + 44) = from->inet_conn.icsk_inet.sk.sk_sndbuf;
	*(u32 *)(to + 48) = from->inet_conn.icsk_inet.sk.sk_rcvbuf;
	*(u32 *)(to + 56) = from->inet_conn.icsk_rto;
	*(u32 *)(to + 60) = from->inet_conn.icsk_rto_min;
	*(u32 *)(to + 64) = from->inet_conn.icsk_rto_max;
	*(u32 *)(to + 68) = from->inet_conn.icsk_delack_max;
	to[80] |= BPF_CORE_READ_BITFIELD(from, inet_conn.icsk_ca_state) << 0;
	to[80] |= BPF_CORE_READ_BITFIELD(from, inet_conn.icsk_ca_initialized) << 5;
	to[80] |= BPF_CORE_READ_BITFIELD(from, inet_conn.icsk_ca_setsockopt) << 6;
	to[80] |= BPF_CORE_READ_BITFIELD(from, inet_conn.icsk_ca_dst_locked) << 7;
	*(u8 *)(to + 81) = from->inet_conn.icsk_retransmits;
	*(u8 *)(to + 82) = from->inet_conn.icsk_pending;
	*(u8 *)(to + 83) = from->inet_conn.icsk_backoff;
	*(u8 *)(to + 84) = from->inet_conn.icsk_ack.pending;
	*(u8 *)(to + 85) = from->inet_conn.icsk_ack.quick;
	*(u8 *)(to + 86) = from->inet_conn.icsk_ack.pingpong;
	*(u8 *)(to + 87) = from->inet_conn.icsk_ack.retry;
	to[88] |= BPF_CORE_READ_BITFIELD(from, inet_conn.icsk_ack.ato) << 0;
	*(u32 *)(to + 92) = from->inet_conn.icsk_ack.lrcvtime;
	*(u16 *)(to + 96) = from->inet_conn.icsk_ack.last_seg_size;
	*(u16 *)(to + 98) = from->inet_conn.icsk_ack.rcv_mss;
	*(u64 *)(to + 104) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[0];
	*(u64 *)(to + 112) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[1];
	*(u64 *)(to + 120) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[2];
	*(u64 *)(to + 128) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[3];
	*(u64 *)(to + 136) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[4];
	*(u64 *)(to + 144) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[5];
	*(u64 *)(to + 152) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[6];
	*(u64 *)(to + 160) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[7];
	*(u64 *)(to + 168) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[8];
	*(u64 *)(to + 176) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[9];
	*(u64 *)(to + 184) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[10];
	*(u64 *)(to + 192) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[11];
	*(u64 *)(to + 200) = ((const u64 *)&from->inet_conn.icsk_ca_priv)[12];
	*(u32 *)(to + 208) = from->snd_cwnd;
	*(u32 *)(to + 212) = from->snd_cwnd_cnt;
	*(u32 *)(to + 216) = from->snd_cwnd_clamp;
	*(u32 *)(to + 220) = from->snd_cwnd_used;
	*(u32 *)(to + 224) = from->snd_cwnd_stamp;
	*(u32 *)(to + 228) = from->snd_ssthresh;
	*(u32 *)(to + 232) = from->prior_cwnd;
	*(u32 *)(to + 236) = from->prior_ssthresh;
	*(u32 *)(to + 240) = from->prr_delivered;
	*(u32 *)(to + 244) = from->prr_out;
	*(u32 *)(to + 248) = from->max_packets_out;
	*(u32 *)(to + 252) = from->cwnd_usage_seq;
	to[256] |= BPF_CORE_READ_BITFIELD(from, repair) << 0;
	to[256] |= BPF_CORE_READ_BITFIELD(from, tcp_usec_ts) << 1;
	to[256] |= BPF_CORE_READ_BITFIELD(from, is_sack_reneg) << 2;
	to[256] |= BPF_CORE_READ_BITFIELD(from, is_cwnd_limited) << 3;
	*(u32 *)(to + 260) = from->packets_out;
	*(u32 *)(to + 264) = from->retrans_out;
	*(u32 *)(to + 268) = from->sacked_out;
	*(u32 *)(to + 272) = from->lost_out;
	*(u32 *)(to + 276) = from->lost;
	*(u32 *)(to + 280) = from->total_retrans;
	*(u32 *)(to + 284) = from->reordering;
	*(u32 *)(to + 288) = from->reord_seen;
	*(u32 *)(to + 292) = from->dsack_dups;
	*(u32 *)(to + 296) = from->delivered;
	*(u32 *)(to + 300) = from->delivered_ce;
	*(u32 *)(to + 304) = from->app_limited;
	*(u32 *)(to + 308) = from->snd_una;
	*(u32 *)(to + 312) = from->snd_nxt;
	*(u32 *)(to + 316) = from->write_seq;
	*(u32 *)(to + 320) = from->snd_wnd;
	*(u32 *)(to + 324) = from->max_window;
	*(u32 *)(to + 328) = from->rcv_nxt;
	*(u32 *)(to + 332) = from->rcv_wnd;
	*(u32 *)(to + 336) = from->copied_seq;
	*(u32 *)(to + 340) = from->high_seq;
	*(u32 *)(to + 344) = from->tlp_high_seq;
	*(u32 *)(to + 348) = from->undo_marker;
	*(u32 *)(to + 352) = from->undo_retrans;
	*(u32 *)(to + 356) = from->segs_out;
	*(u32 *)(to + 360) = from->data_segs_out;
	*(u64 *)(to + 368) = from->bytes_sent;
	*(u64 *)(to + 376) = from->bytes_acked;
	*(u64 *)(to + 384) = from->bytes_retrans;
	*(u32 *)(to + 392) = from->segs_in;
	*(u32 *)(to + 396) = from->data_segs_in;
	*(u64 *)(to + 400) = from->bytes_received;
	*(u32 *)(to + 408) = from->mss_cache;
	*(u16 *)(to + 412) = from->advmss;
	*(u16 *)(to + 414) = from->tcp_header_len;
	*(u8 *)(to + 416) = from->ecn_flags;
	*(u32 *)(to + 420) = from->srtt_us;
	*(u32 *)(to + 424) = from->mdev_us;
	*(u32 *)(to + 428) = from->rttvar_us;
	*(u32 *)(to + 432) = from->rtt_seq;
	*(u32 *)(to + 436) = ((const u32 *)&from->rtt_min.s)[0];
	*(u32 *)(to + 440) = ((const u32 *)&from->rtt_min.s)[1];
	*(u32 *)(to + 444) = ((const u32 *)&from->rtt_min.s)[2];
	*(u32 *)(to + 448) = ((const u32 *)&from->rtt_min.s)[3];
	*(u32 *)(to + 452) = ((const u32 *)&from->rtt_min.s)[4];
	*(u32 *)(to + 456) = ((const u32 *)&from->rtt_min.s)[5];
	*(u32 *)(to + 464) = from->rcv_rtt_est.rtt_us;
	*(u32 *)(to + 468) = from->rcv_rtt_est.seq;
	*(u64 *)(to + 472) = from->rcv_rtt_est.time;
	*(u64 *)(to + 480) = from->tcp_clock_cache;
	*(u64 *)(to + 488) = from->tcp_mstamp;
	*(u64 *)(to + 496) = from->tcp_wstamp_ns;
	*(u32 *)(to + 504) = from->lsndtime;
	*(u32 *)(to + 508) = from->retrans_stamp;
	*(u64 *)(to + 512) = from->first_tx_mstamp;
	*(u64 *)(to + 520) = from->delivered_mstamp;
	*(u32 *)(to + 528) = from->rate_delivered;
	*(u32 *)(to + 532) = from->rate_interval_us;
}

enum { ACK_SAMPLE_SIZE = 12 };

static __always_inline void save_ack_sample(u8 *to, const struct ack_sample *from)
{
	*(u32 *)(to + 0) = from->pkts_acked;
	*(u32 *)(to + 4) = from->rtt_us;
	*(u32 *)(to + 8) = from->in_flight;
}

enum { RATE_SAMPLE_SIZE = 72 };

static __always_inline void save_rate_sample(u8 *to, const struct rate_sample *from)
{
	*(u64 *)(to + 0) = from->prior_mstamp;
	*(u32 *)(to + 8) = from->prior_delivered;
	*(u32 *)(to + 12) = from->prior_delivered_ce;
	*(u32 *)(to + 16) = from->delivered;
	*(u32 *)(to + 20) = from->delivered_ce;
	*(u64 *)(to + 24) = from->interval_us;
	*(u32 *)(to + 32) = from->snd_interval_us;
	*(u32 *)(to + 36) = from->rcv_interval_us;
	*(u64 *)(to + 40) = from->rtt_us;
	*(u32 *)(to + 48) = from->losses;
	*(u32 *)(to + 52) = from->acked_sacked;
	*(u32 *)(to + 56) = from->prior_in_flight;
	*(u32 *)(to + 60) = from->last_end_seq;
	*(u8 *)(to + 64) = from->is_app_limited;
	*(u8 *)(to + 65) = from->is_retrans;
	*(u8 *)(to + 66) = from->is_ack_delayed;
}
