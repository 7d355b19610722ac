/* A bulk flow: its two sockets, and what the network has seen of it. */
#ifndef FLOW_H
#define FLOW_H

#include "host.h"
#include "network.h"

struct flow {
    char congestion[16];
    uint64_t start_ns;
    uint64_t bytes;                 /* Payload of the flow; 0 if it does not end. */
    uint64_t unwritten;             /* Of these, what the application has still to write. */
    bool is_closed;                 /* The application has written everything. */
    int listener, sender, receiver; /* -1 while there is none. */
    uint32_t first;                 /* Sequence number of the first byte. */
    uint64_t highest;               /* Bytes sent once or more; also tells where sequence numbers have wrapped. */
    unsigned char *arrived;         /* A bit for each byte. */
    size_t room;                    /* Bytes of it. */
    uint64_t sent, retransmits;     /* Segments. */
    uint64_t arrived_bytes;         /* Payload that arrived, each byte once, since counting began. */
    uint64_t completed_ns;          /* When the last of its bytes arrived; 0 before. */
};

/* Opens the socket that waits for the flow, on the host that receives. */
void flow_listen(struct flow *flow, int index, const struct host *receiver);

/* Connects, from the host that sends. */
void flow_start(struct flow *flow, int index, const struct host *sender, const struct host *receiver);

/* Takes the connection that waits. */
void flow_accept(struct flow *flow);

/* Writes as much as the sender takes, and closes this direction behind the last byte of a flow that ends. */
void flow_write(struct flow *flow);

/* Reads all that the receiver has; forgets it at the end of the data. */
void flow_read(struct flow *flow);

/* Notes that a packet enters the network on the side of the sender. */
void flow_note_sent(struct flow *flow, const struct packet *packet);

/* Notes that a packet reaches the receiver; `counts` says whether the run is being measured. */
void flow_note_arrived(struct flow *flow, const struct packet *packet, uint64_t now_ns, bool counts);

/* Fills in what the headers of a packet say: its flow and its direction. */
void flow_find(struct packet *packet);

#endif
