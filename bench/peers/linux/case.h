/* What to run: a text file with a line for each thing. */
#ifndef CASE_H
#define CASE_H

#include "flow.h"
#include "network.h"

struct setting {
    char *name, *value;
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
};

/* Reads the file; bench/peers/linux/case.py writes it. */
void case_read(const char *path, struct run *run);

#endif
