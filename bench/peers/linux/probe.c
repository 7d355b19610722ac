#include "probe.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 84, PORT = 4999 }; /* As ping's packets. */

struct content {
    struct iphdr ip;
    struct udphdr udp; /* Without checksum. */
    uint64_t sent_ns;
} __attribute__((packed));

static uint16_t checksum(const struct iphdr *header) {
    uint16_t words[sizeof *header / 2];
    uint32_t sum = 0;
    memcpy(words, header, sizeof words);
    for (size_t index = 0; index < sizeof words / sizeof *words; index++)
        sum += words[index];
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16));
}

struct packet *probe_packet(unsigned sender, unsigned receiver, uint64_t now_ns) {
    struct packet *packet = calloc(1, sizeof *packet + BYTES);
    struct content content = {
        .ip = {.version = 4, .ihl = 5, .tot_len = htons(BYTES), .ttl = 64, .protocol = IPPROTO_UDP, .saddr = sender, .daddr = receiver},
        .udp = {.source = htons(PORT), .dest = htons(PORT), .len = htons(BYTES - sizeof(struct iphdr))},
        .sent_ns = now_ns,
    };
    struct iphdr header = content.ip;
    content.ip.check = checksum(&header);
    packet->bytes = BYTES;
    memcpy(packet->data, &content, sizeof content);
    packet->flow = PROBE;
    packet->direction = AHEAD;
    return packet;
}

bool probe_find(struct packet *packet) {
    const struct iphdr *ip = (const struct iphdr *)packet->data;
    packet->flow = PROBE;
    packet->direction = AHEAD;
    return packet->bytes >= sizeof *ip && ip->version == 4 && ip->protocol == IPPROTO_UDP;
}

void probe_note_arrived(struct probe *probe, const struct packet *packet, uint64_t now_ns) {
    struct content content;
    memcpy(&content, packet->data, sizeof content);
    if (probe->count == probe->room) {
        probe->room = 2 * probe->room + 64;
        probe->delays_ns = realloc(probe->delays_ns, probe->room * sizeof *probe->delays_ns);
    }
    probe->delays_ns[probe->count++] = now_ns - content.sent_ns;
}
