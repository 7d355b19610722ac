/* A sparse flow: a small packet at each interval, whose delay is measured. */
#ifndef PROBE_H
#define PROBE_H

#include "network.h"

enum { PROBE = MOST_FLOWS - 1 }; /* Its number among the flows. */

struct probe {
    uint64_t next_ns;    /* When the next packet is sent. */
    uint64_t *delays_ns; /* Of the packets that arrived while the run was measured. */
    size_t count, room;
    uint64_t sent;       /* Packets, all. */
};

/* The next packet, between these addresses (in network order). The caller owns it. */
struct packet *probe_packet(unsigned sender, unsigned receiver, uint64_t now_ns);

/* Whether a packet is of this flow. If it is, fills in its flow and its direction. */
bool probe_find(struct packet *packet);

/* Notes that a packet has arrived. */
void probe_note_arrived(struct probe *probe, const struct packet *packet, uint64_t now_ns);

#endif
