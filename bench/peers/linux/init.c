/* The first and only program of the guest: two hosts, the network between them, bulk flows from one to the other.

Time is virtual (time-travel=inf-cpu): it stands while a program computes and moves while all sleep, so that neither
this program nor the machine that the guest runs on takes any of it. */
#define _GNU_SOURCE
#include "case.h"
#include "failure.h"
#include "flow.h"
#include "host.h"
#include "network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST_PACKET = 65536 };

static struct run run;
static struct host sides[DIRECTIONS]; /* By the direction of what they send. */
static uint64_t began_ns; /* Whole seconds: the kernel's clocks tick as if they had begun with the run. */

void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fputs("failed: ", stdout);
    vprintf(format, values);
    puts("");
    fflush(stdout);
    reboot(RB_POWER_OFF);
    abort();
}

static uint64_t now(void) {
    struct timespec time;
    MUST(clock_gettime(CLOCK_MONOTONIC, &time));
    return time.tv_sec * 1000000000ull + time.tv_nsec - began_ns;
}

static void boot(void) {
    MUST(mount("proc", "/proc", "proc", 0, NULL));
    MUST(mount("dev", "/dev", "tmpfs", 0, NULL));
    MUST(mkdir("/dev/net", 0755));
    MUST(mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200)));
    /* Sleeps end on time. Others than real-time tasks sleep up to a thousandth longer (fs/select.c). */
    MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}));
}

/* The kernel was built to draw from nothing but this. */
static void seed_kernel(uint64_t seed) {
    MUST(mknod("/dev/urandom", S_IFCHR | 0600, makedev(1, 9)));
    int device = MUST(open("/dev/urandom", O_WRONLY));
    MUST(write(device, &seed, sizeof seed));
    MUST(ioctl(device, RNDRESEEDCRNG));
    close(device);
}

static void make_hosts(void) {
    for (int side = AHEAD; side < DIRECTIONS; side++) {
        sides[side] = host_make(side + 1, run.mtu, run.offload);
        for (int index = 0; index < run.setting_count; index++)
            host_set(run.settings[index].name, run.settings[index].value);
    }
    for (int index = 0; index < run.flow_count; index++)
        flow_listen(&run.flows[index], index, &sides[BACK]);
}

static void make_routers(void) {
    for (int index = 0; index < run.message_count; index++) {
        struct message *message = &run.messages[index];
        struct link *link = &run.network.links[message->link];
        if (!link->router) {
            link->router = malloc(sizeof *link->router);
            *link->router = router_make(sides[BACK].address, run.mtu);
        }
        router_configure(message->data, message->bytes);
    }
}

/* The next packet that a device hands out; NULL if there is none now. */
static struct packet *take(int device) {
    static unsigned char bytes[LARGEST_PACKET];
    long count = read(device, bytes, sizeof bytes);
    if (count < 0 && errno == EAGAIN)
        return NULL;
    if (count <= 0)
        fail("reading packets: %m");
    struct packet *packet = malloc(sizeof *packet + count);
    packet->bytes = count;
    memcpy(packet->data, bytes, count);
    return packet;
}

/* Takes the packets that the router of a link has forwarded. */
static void take_forwarded(struct link *link, uint64_t now_ns) {
    struct packet *packet;
    while ((packet = take(link->router->out))) {
        if (!probe_find(packet))
            flow_find(packet);
        network_forwarded(&run.network, link, packet, now_ns);
    }
}

/* Takes the packets that a host has sent. */
static void collect(const struct host *host, uint64_t now_ns) {
    struct packet *packet;
    while ((packet = take(host->device))) {
        flow_find(packet);
        if (packet->direction == AHEAD)
            flow_note_sent(&run.flows[packet->flow], packet);
        network_send(&run.network, packet, now_ns);
    }
}

/* Hands a packet to the host that it was sent to, and takes at once what that host answers: a call saved for most packets. */
static void deliver(struct packet *packet, uint64_t now_ns) {
    if (packet->flow == PROBE) {
        if (now_ns > run.warm_up_ns)
            probe_note_arrived(&run.probe, packet, now_ns);
        free(packet);
        return;
    }
    struct flow *flow = &run.flows[packet->flow];
    const struct host *receiver = &sides[1 - packet->direction];
    MUST(write(receiver->device, packet->data, packet->bytes));
    if (packet->direction == AHEAD) {
        flow_note_arrived(flow, packet, now_ns, now_ns > run.warm_up_ns);
        if (flow->receiver >= 0)
            flow_read(flow);
    }
    free(packet);
    collect(receiver, now_ns);
}

/* Starts what is due and moves what is due; returns when the next of these is. */
static uint64_t act(uint64_t now_ns) {
    uint64_t next_ns = run.end_ns, due_ns;
    for (int index = 0; index < run.flow_count; index++) {
        struct flow *flow = &run.flows[index];
        if (flow->sender < 0 && flow->start_ns <= now_ns)
            flow_start(flow, index, &sides[AHEAD], &sides[BACK]);
        if (flow->sender < 0 && flow->start_ns < next_ns)
            next_ns = flow->start_ns;
    }
    while (run.probe_interval_ns && run.probe.next_ns <= now_ns) {
        network_send(&run.network, probe_packet(sides[AHEAD].address, sides[BACK].address, now_ns), now_ns);
        run.probe.next_ns += run.probe_interval_ns;
        run.probe.sent++;
    }
    if (run.probe_interval_ns && run.probe.next_ns < next_ns)
        next_ns = run.probe.next_ns;
    while ((due_ns = network_next(&run.network)) <= now_ns) {
        struct packet *packet = network_step(&run.network, due_ns);
        if (packet)
            deliver(packet, due_ns);
    }
    return due_ns < next_ns ? due_ns : next_ns;
}

/* Sleeps until `then_ns` or until a device or a socket has something to do, and does it; returns the time. */
static uint64_t serve(uint64_t now_ns, uint64_t then_ns) {
    struct pollfd files[DIRECTIONS + MOST_LINKS + 3 * MOST_FLOWS], *file = files;
    for (int side = AHEAD; side < DIRECTIONS; side++)
        *file++ = (struct pollfd){.fd = sides[side].device, .events = POLLIN};
    for (int index = 0; index < run.network.link_count; index++)
        if (run.network.links[index].router)
            *file++ = (struct pollfd){.fd = run.network.links[index].router->out, .events = POLLIN};
    for (int index = 0; index < run.flow_count; index++) {
        const struct flow *flow = &run.flows[index];
        *file++ = (struct pollfd){.fd = flow->is_closed ? -1 : flow->sender, .events = POLLOUT};
        *file++ = (struct pollfd){.fd = flow->listener, .events = POLLIN};
        *file++ = (struct pollfd){.fd = flow->receiver, .events = POLLIN};
    }
    uint64_t rest_ns = then_ns - now_ns;
    MUST(ppoll(files, file - files, &(struct timespec){rest_ns / 1000000000, rest_ns % 1000000000}, NULL));
    now_ns = now();
    file = files;
    for (int side = AHEAD; side < DIRECTIONS; side++)
        if (file++->revents)
            collect(&sides[side], now_ns);
    for (int index = 0; index < run.network.link_count; index++)
        if (run.network.links[index].router && file++->revents)
            take_forwarded(&run.network.links[index], now_ns);
    for (int index = 0; index < run.flow_count; index++) {
        struct flow *flow = &run.flows[index];
        if (file++->revents)
            flow_write(flow);
        if (file++->revents)
            flow_accept(flow);
        if (file++->revents)
            flow_read(flow);
    }
    return now_ns;
}

/* A counter of the host entered last, from the two lines (names, numbers) of its group in /proc/net/netstat. */
static long counter(const char *name) {
    char names[8192], numbers[8192];
    FILE *file = fopen("/proc/self/net/netstat", "r");
    while (file && fgets(names, sizeof names, file) && fgets(numbers, sizeof numbers, file)) {
        char *rest[2] = {names, numbers}, *title, *value;
        while ((title = strsep(&rest[0], " \n")) && (value = strsep(&rest[1], " \n")))
            if (strcmp(title, name) == 0) {
                fclose(file);
                return atol(value);
            }
    }
    fail("no counter %s", name);
}

static void write_results(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        fail("%s: %m", path);
    host_enter(&sides[AHEAD]);
    fprintf(file, "{\"timeouts\": %ld, \"flows\": [", counter("TCPTimeouts"));
    for (int index = 0; index < run.flow_count; index++) {
        const struct flow *flow = &run.flows[index];
        struct tcp_info info = {0};
        MUST(getsockopt(flow->sender, IPPROTO_TCP, TCP_INFO, &info, &(socklen_t){sizeof info}));
        fprintf(file, "%s{\"arrived_bytes\": %lu, \"completed_ns\": %lu, \"sent\": %lu, \"retransmits\": %lu, \"window_limited_us\": %llu}",
                index ? ", " : "", flow->arrived_bytes, flow->completed_ns, flow->sent, flow->retransmits, info.tcpi_rwnd_limited);
    }
    fputs("], \"delays_ns\": [", file);
    for (size_t index = 0; index < run.probe.count; index++)
        fprintf(file, "%s%lu", index ? ", " : "", run.probe.delays_ns[index]);
    fputs("], \"links\": [", file);
    for (int index = 0; index < run.network.link_count; index++) {
        const struct link *link = &run.network.links[index];
        fprintf(file, "%s{\"drops\": %lu, \"marks\": %lu, \"losses\": %lu}", index ? ", " : "", link->drops, link->marks, link->losses);
    }
    fputs("]}\n", file);
    fclose(file);
}

int main(void) {
    boot();
    case_read("/case", &run);
    seed_kernel(run.network.random);
    make_hosts();
    make_routers();
    MUST(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){.tv_sec = 1}, NULL));
    began_ns = 1000000000;
    for (uint64_t now_ns = 0; now_ns < run.end_ns;)
        now_ns = serve(now_ns, act(now_ns));
    write_results("/result");
    reboot(RB_POWER_OFF);
}
