/* What to run: a text file with a line for each thing. */
#ifndef CASE_H
#define CASE_H

#include "flow.h"
#include "network.h"
#include "probe.h"

struct setting {
    char *name, *value;
};

/* For the queue disciplines of the router of a link. */
struct message {
    int link;
    unsigned char *data;
    size_t bytes;
};

struct run {
    uint64_t end_ns, warm_up_ns;
    int mtu;
    bool offload; /* Segmentation offload. */
    struct setting settings[32]; /* Below /proc/sys, of both hosts. */
    int setting_count;
    struct network network;
    struct flow flows[MOST_FLOWS];
    int flow_count;
    struct message messages[32];
    int message_count;
    uint64_t probe_interval_ns; /* 0 without probes. */
    struct probe probe;
};

/* Reads the file; bench/peers/linux/case.py writes it. */
void case_read(const char *path, struct run *run);

#endif
