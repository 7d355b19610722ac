/* Virtual time moves only while the guest sleeps, so that a packet's times here are exact to the nanosecond. */
#include "network.h"

#include "failure.h"

#include <stdlib.h>
#include <unistd.h>

static uint64_t arrival(const struct link *link, const struct packet *packet) {
    return packet->departs_ns + link->delay_ns;
}

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t draw(uint64_t *state) {
    uint64_t mixed = *state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

static int choose(struct network *network, struct course *course) {
    switch (course->select) {
    case ROUND_ROBIN:
        return course->paths[course->turn++ % course->count];
    case RANDOM:
        return course->paths[(draw(&network->random) >> 32) * course->count >> 32];
    default:
        return course->paths[0];
    }
}

/* Whether the wire loses the packet that enters it now. */
static bool is_lost(struct link *link) {
    link->transmitted++;
    if (link->lost_done == link->lost_count || link->lost[link->lost_done] != link->transmitted)
        return false;
    link->lost_done++;
    link->losses++;
    return true;
}

enum { ECN_MASK = 3, CONGESTION_EXPERIENCED = 3 }; /* The two low bits of IP's second byte (RFC 3168). */

/* Marks a packet that is ECN-capable, and updates the header's checksum (RFC 1624, equation 3). */
static void mark(struct link *link, struct packet *packet) {
    unsigned char *header = packet->data;
    unsigned before = header[1];
    if ((before & ECN_MASK) == 0 || (before & ECN_MASK) == CONGESTION_EXPERIENCED)
        return;
    header[1] |= CONGESTION_EXPERIENCED;
    unsigned sum = (~(header[10] << 8 | header[11]) & 0xffff) + (~before & 0xffff) + header[1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    header[10] = sum >> 8;
    header[11] = sum;
    link->marks++;
}

static void put_on_wire(struct link *link, struct packet *packet) {
    packet->is_lost = is_lost(link);
    packet->next = NULL;
    if (link->first)
        link->last->next = packet;
    else
        link->first = packet;
    link->last = packet;
}

static void enter(struct link *link, struct packet *packet, uint64_t now_ns) {
    if (link->router) {
        MUST(write(link->router->in, packet->data, packet->bytes));
        free(packet);
        return;
    }
    while (link->waiting && link->waiting->departs_ns <= now_ns) {
        link->waiting = link->waiting->next;
        link->backlog--;
    }
    if (link->backlog >= link->limit) {
        link->drops++;
        free(packet);
        return;
    }
    if (link->mark && link->backlog >= link->mark)
        mark(link, packet);
    uint64_t begins_ns = link->free_ns > now_ns ? link->free_ns : now_ns;
    unsigned __int128 bits = packet->bytes * 8;
    packet->departs_ns = begins_ns + (uint64_t)(bits * 1000000000 / link->rate_bps);
    link->free_ns = packet->departs_ns;
    link->backlog++;
    put_on_wire(link, packet);
    if (!link->waiting)
        link->waiting = packet;
}

static struct link *link_of(struct network *network, const struct packet *packet) {
    return &network->links[network->paths[packet->path].links[packet->hop]];
}

void network_send(struct network *network, struct packet *packet, uint64_t now_ns) {
    packet->path = choose(network, &network->courses[packet->flow][packet->direction]);
    packet->hop = 0;
    enter(link_of(network, packet), packet, now_ns);
}

void network_forwarded(struct network *network, struct link *link, struct packet *packet, uint64_t now_ns) {
    const struct path *path;
    packet->path = network->courses[packet->flow][packet->direction].paths[0];
    path = &network->paths[packet->path];
    for (packet->hop = 0; &network->links[path->links[packet->hop]] != link;)
        packet->hop++;
    packet->departs_ns = now_ns;
    put_on_wire(link, packet);
}

static int next_link(const struct network *network) {
    uint64_t least_ns = NEVER;
    int next = -1;
    for (int index = 0; index < network->link_count; index++) {
        const struct link *link = &network->links[index];
        if (link->first && arrival(link, link->first) < least_ns) {
            least_ns = arrival(link, link->first);
            next = index;
        }
    }
    return next;
}

uint64_t network_next(const struct network *network) {
    int next = next_link(network);
    return next < 0 ? NEVER : arrival(&network->links[next], network->links[next].first);
}

struct packet *network_step(struct network *network, uint64_t now_ns) {
    struct link *link = &network->links[next_link(network)];
    struct packet *packet = link->first;
    if (link->waiting == packet) {
        link->waiting = packet->next;
        link->backlog--;
    }
    link->first = packet->next;
    if (packet->is_lost) {
        free(packet);
        return NULL;
    }
    packet->hop++;
    if (packet->hop == network->paths[packet->path].hops)
        return packet;
    enter(link_of(network, packet), packet, now_ns);
    return NULL;
}
