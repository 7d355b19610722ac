/* A router in front of a link: a network namespace with two devices. Linux forwards from the first to the second, through queue disciplines. */
#ifndef ROUTER_H
#define ROUTER_H

#include <stddef.h>

struct router {
    int in, out; /* Devices: a packet for each write and each read. */
};

/* Makes the router for packets to this IPv4 address, in network order. The program is in its namespace afterwards. */
struct router router_make(unsigned receiver, int mtu);

/* Sends a message of rtnetlink about queue disciplines, for the second device of the router made last. */
void router_configure(unsigned char *message, size_t bytes);

#endif
