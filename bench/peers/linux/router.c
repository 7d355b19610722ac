#define _GNU_SOURCE
#include "router.h"

#include "failure.h"
#include "host.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void add_route(unsigned receiver, char *device) {
    struct rtentry route = {.rt_flags = RTF_UP | RTF_HOST, .rt_dev = device};
    struct sockaddr_in target = {.sin_family = AF_INET, .sin_addr.s_addr = receiver};
    int any = MUST(socket(AF_INET, SOCK_DGRAM, 0));
    memcpy(&route.rt_dst, &target, sizeof target);
    MUST(ioctl(any, SIOCADDRT, &route));
    close(any);
}

struct router router_make(unsigned receiver, int mtu) {
    struct router router;
    MUST(unshare(CLONE_NEWNET));
    router.in = host_open_device("in", htonl(0x0a010001), mtu, false);
    router.out = host_open_device("out", htonl(0x0a020001), mtu, false);
    add_route(receiver, "out");
    host_set("net/ipv4/ip_forward", "1");
    return router;
}

void router_configure(unsigned char *message, size_t bytes) {
    struct tcmsg *about = (struct tcmsg *)(message + sizeof(struct nlmsghdr));
    about->tcm_ifindex = if_nametoindex("out");
    host_ask(message, bytes, "queue discipline");
}
