#define _GNU_SOURCE
#include "flow.h"

#include "failure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PORT = 5000,             /* Of the first flow; the next one has the next port. */
    BUFFER_BYTES = 64 << 20, /* Of the sender. */
    WAITING_BYTES = 1 << 20, /* That may wait in the socket for the window to open. */
};

static struct sockaddr_in address_of(const struct host *host, int index) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT + index)};
    address.sin_addr.s_addr = host->address;
    return address;
}

static void set_congestion(int socket, const struct flow *flow) {
    if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, flow->congestion, strlen(flow->congestion)) < 0)
        fail("congestion control %s: %m", flow->congestion);
}

void flow_listen(struct flow *flow, int index, const struct host *receiver) {
    struct sockaddr_in address = address_of(receiver, index);
    flow->listener = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    set_congestion(flow->listener, flow); /* DCTCP's receiver echoes marks otherwise than others. */
    MUST(bind(flow->listener, (struct sockaddr *)&address, sizeof address));
    MUST(listen(flow->listener, 1));
}

void flow_start(struct flow *flow, int index, const struct host *sender, const struct host *receiver) {
    struct sockaddr_in address = address_of(receiver, index);
    host_enter(sender);
    flow->sender = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    MUST(setsockopt(flow->sender, SOL_SOCKET, SO_SNDBUFFORCE, &(int){BUFFER_BYTES}, sizeof(int)));
    MUST(setsockopt(flow->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){WAITING_BYTES}, sizeof(int)));
    set_congestion(flow->sender, flow);
    if (connect(flow->sender, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS)
        fail("connect: %m");
}

void flow_accept(struct flow *flow) {
    flow->receiver = MUST(accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK));
    close(flow->listener);
    flow->listener = -1;
}

void flow_write(struct flow *flow) {
    static const char zeros[WAITING_BYTES];
    int segment;
    MUST(getsockopt(flow->sender, IPPROTO_TCP, TCP_MAXSEG, &segment, &(socklen_t){sizeof segment}));
    /* Whole segments, and more is always to come: no segment is the last of a write. */
    while (flow->bytes == 0 && send(flow->sender, zeros, WAITING_BYTES / segment * segment, MSG_MORE) > 0) {
    }
    while (flow->unwritten > 0) {
        long bytes = send(flow->sender, zeros, flow->unwritten < WAITING_BYTES ? flow->unwritten : WAITING_BYTES, 0);
        if (bytes < 0)
            break;
        flow->unwritten -= bytes;
    }
    if (flow->bytes > 0 && flow->unwritten == 0) {
        MUST(shutdown(flow->sender, SHUT_WR));
        flow->is_closed = true;
    } else if (errno != EAGAIN)
        fail("send: %m");
}

void flow_read(struct flow *flow) {
    long bytes = recv(flow->receiver, NULL, INT_MAX, MSG_TRUNC); /* MSG_TRUNC: nothing is copied. */
    if (bytes == 0 && flow->bytes > 0)
        flow->receiver = -1; /* Not closed: only the sender's side sends a FIN. */
    else if (bytes == 0 || (bytes < 0 && errno != EAGAIN))
        fail("recv: %m");
}

static const struct tcphdr *tcp_of(const struct packet *packet) {
    return (const struct tcphdr *)(packet->data + ((const struct iphdr *)packet->data)->ihl * 4);
}

static size_t payload_of(const struct packet *packet) {
    const struct tcphdr *tcp = tcp_of(packet);
    return packet->bytes - ((const unsigned char *)tcp - packet->data) - tcp->doff * 4;
}

void flow_find(struct packet *packet) {
    const struct iphdr *ip = (const struct iphdr *)packet->data;
    if (packet->bytes < sizeof *ip || ip->version != 4 || ip->protocol != IPPROTO_TCP)
        fail("a packet that is not TCP over IPv4");
    int ports[] = {ntohs(tcp_of(packet)->dest) - PORT, ntohs(tcp_of(packet)->source) - PORT};
    packet->direction = ports[AHEAD] >= 0 && ports[AHEAD] < MOST_FLOWS ? AHEAD : BACK;
    packet->flow = ports[packet->direction];
}

/* Where in the flow the payload of a packet begins. */
static uint64_t offset_of(struct flow *flow, const struct packet *packet) {
    uint32_t low = ntohl(tcp_of(packet)->seq) - flow->first;
    return flow->highest + (int32_t)(low - (uint32_t)flow->highest);
}

void flow_note_sent(struct flow *flow, const struct packet *packet) {
    if (tcp_of(packet)->syn)
        flow->first = ntohl(tcp_of(packet)->seq) + 1;
    if (payload_of(packet) == 0)
        return;
    uint64_t offset = offset_of(flow, packet);
    flow->sent++;
    if (offset < flow->highest)
        flow->retransmits++;
    else
        flow->highest = offset + payload_of(packet);
}

/* Records these bytes as arrived; returns how many had not. A segment may end in the middle of another: the receiver's window cuts it. */
static size_t mark_arrived(struct flow *flow, uint64_t offset, uint64_t end) {
    if (end / 8 >= flow->room) {
        size_t room = 2 * flow->room + end / 8 + 4096;
        flow->arrived = realloc(flow->arrived, room);
        memset(flow->arrived + flow->room, 0, room - flow->room);
        flow->room = room;
    }
    size_t count = 0;
    while (offset < end) {
        size_t step = offset % 8 == 0 && end - offset >= 8 ? 8 : 1;
        unsigned char *eight = &flow->arrived[offset / 8], bits = step == 8 ? 0xff : 1 << offset % 8;
        count += step - __builtin_popcount(*eight & bits);
        *eight |= bits;
        offset += step;
    }
    return count;
}

void flow_note_arrived(struct flow *flow, const struct packet *packet, uint64_t now_ns, bool counts) {
    if (payload_of(packet) == 0)
        return;
    uint64_t offset = offset_of(flow, packet);
    size_t count = mark_arrived(flow, offset, offset + payload_of(packet));
    if (counts)
        flow->arrived_bytes += count;
    if (flow->arrived_bytes == flow->bytes && flow->completed_ns == 0)
        flow->completed_ns = now_ns;
}
