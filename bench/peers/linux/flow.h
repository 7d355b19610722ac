/* A bulk flow: its two sockets, and what the network has seen of it. */
#ifndef FLOW_H
#define FLOW_H

#include "host.h"
#include "network.h"

struct flow {
    char congestion[16];
    uint64_t start_ns;
    int listener, sender, receiver; /* -1 while there is none. */
    uint32_t first;                 /* Sequence number of the first byte. */
    size_t segment_bytes;           /* Payload of every segment; 0 before the first one. */
    uint64_t highest;               /* Greatest offset seen, to tell where sequence numbers have wrapped. */
    unsigned char *segments;        /* What has happened to each, as bits. */
    size_t room;                    /* Segments that there is room for. */
    uint64_t sent, retransmits;     /* Segments. */
    uint64_t arrived_bytes;         /* Payload that arrived, each byte once, since counting began. */
};

/* Opens the socket that waits for the flow, on the host that receives. */
void flow_listen(struct flow *flow, int index, const struct host *receiver);

/* Connects, from the host that sends. */
void flow_start(struct flow *flow, int index, const struct host *sender, const struct host *receiver);

/* Takes the connection that waits. */
void flow_accept(struct flow *flow);

/* Writes as much as the sender takes. */
void flow_write(struct flow *flow);

/* Reads all that the receiver has. */
void flow_read(struct flow *flow);

/* Notes that a packet enters the network on the side of the sender. */
void flow_note_sent(struct flow *flow, const struct packet *packet);

/* Notes that a packet reaches the receiver; `counts` says whether the run is being measured. */
void flow_note_arrived(struct flow *flow, const struct packet *packet, bool counts);

/* Fills in what the headers of a packet say: its flow, its direction, whether it is counted. */
void flow_find(struct packet *packet);

#endif
