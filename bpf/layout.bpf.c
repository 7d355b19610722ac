/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One variable of every type: the BTF of this object is the simulator's memory layout. */
#include "anabranch.bpf.h"

struct tcp_sock a_tcp_sock;
struct ack_sample an_ack_sample;
struct rate_sample a_rate_sample;
struct tcp_congestion_ops some_tcp_congestion_ops;
enum tcp_ca_state a_tcp_ca_state;
enum tcp_ca_ack_event_flags some_tcp_ca_ack_event_flags;
