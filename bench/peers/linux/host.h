/* A host: a network namespace whose one device hands its packets to this program, and takes them from it. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>

struct host {
    int namespace;      /* To enter it. */
    int device;         /* A packet for each read and write. */
    unsigned address;   /* IPv4, in network order. */
};

/* Makes a host with the address 10.0.0.`number`, this MTU, and segmentation offload or not. The program is in its namespace afterwards. */
struct host host_make(int number, int mtu, bool offload);

/* Opens a device with this name and address (in network order), in the namespace of the program. */
int host_open_device(const char *name, unsigned address, int mtu, bool offload);

/* Sends a message of rtnetlink, which must succeed; `what` is named if it does not. */
void host_ask(const void *message, size_t bytes, const char *what);

/* Sockets opened from now on belong to this host. */
void host_enter(const struct host *host);

/* Sets a value below /proc/sys, of the host entered last. */
void host_set(const char *name, const char *value);

#endif
