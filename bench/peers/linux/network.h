/* The emulated network: links with a rate, a delay, a queue and losses, joined to paths that flows choose from. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router.h"

enum { MOST_LINKS = 64, MOST_PATHS = 64, MOST_FLOWS = 64, MOST_HOPS = 16 };

enum direction { AHEAD, BACK, DIRECTIONS };

enum select { FIRST, ROUND_ROBIN, RANDOM };

struct packet {
    struct packet *next;
    uint64_t departs_ns; /* When its last bit leaves the queue of its link. */
    bool is_lost;        /* On the wire of its link. */
    int flow;
    enum direction direction;
    int path;
    int hop;
    size_t bytes;        /* Of the IP packet. */
    unsigned char data[];
};

struct link {
    uint64_t rate_bps;
    uint64_t delay_ns;
    unsigned limit;      /* Packets in the queue, the one in transmission counted. */
    unsigned mark;       /* Packets in the queue from which on an ECN-capable one is marked; 0 if none is. */
    uint64_t *lost;      /* Numbers of the packets lost on the wire, ascending, counted from 1. */
    size_t lost_count, lost_done;
    uint64_t transmitted; /* Packets that are counted. */
    uint64_t drops;
    uint64_t marks;
    uint64_t losses;
    uint64_t free_ns;    /* When the transmitter is free. */
    unsigned backlog;
    struct router *router; /* Instead of the queue and the rate, if there is one. */
    struct packet *first, *last; /* In the queue or on the wire. */
    struct packet *waiting;      /* The first of these that has not left the queue. */
};

struct path {
    int links[MOST_HOPS];
    int hops;
};

/* The paths of a flow in one direction. */
struct course {
    int paths[MOST_PATHS];
    int count;
    enum select select;
    unsigned turn;
};

struct network {
    struct link links[MOST_LINKS];
    int link_count;
    struct path paths[MOST_PATHS];
    int path_count;
    struct course courses[MOST_FLOWS][DIRECTIONS];
    uint64_t random; /* State of the generator. */
};

/* A packet has left the router of a link; it is on the wire from now on. */
void network_forwarded(struct network *network, struct link *link, struct packet *packet, uint64_t now_ns);

static const uint64_t NEVER = UINT64_MAX;

/* Sends a packet of a flow into the network; the network owns it from now on. */
void network_send(struct network *network, struct packet *packet, uint64_t now_ns);

/* When the next packet arrives somewhere, or NEVER. */
uint64_t network_next(const struct network *network);

/* Moves the next packet, due at `now_ns`: to its next link (returns NULL), or out of the network (the caller frees it). */
struct packet *network_step(struct network *network, uint64_t now_ns);

#endif
