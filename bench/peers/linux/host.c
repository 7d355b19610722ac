#define _GNU_SOURCE
#include "host.h"

#include "failure.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const int QUEUE_PACKETS = 32767; /* Between the stack and this program; it reads at once. */

static struct sockaddr_in address_of(unsigned address) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = address};
}

void host_ask(const void *message, size_t bytes, const char *what) {
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char more[1024]; /* A refused message returns. */
    } answer;
    int netlink = MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    MUST(send(netlink, message, bytes, 0));
    MUST(recv(netlink, &answer, sizeof answer, 0));
    if (answer.error.error)
        fail("%s: %s", what, strerror(-answer.error.error));
    close(netlink);
}

/* Makes every segment a packet of its own: without this, TCP builds larger ones and lets the device cut them. */
static void turn_segmentation_offload_off(int device_index) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg device;
        struct rtattr attribute;
        unsigned segments;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .device = {.ifi_index = device_index},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(unsigned)), .rta_type = IFLA_GSO_MAX_SEGS},
        .segments = 1,
    };
    host_ask(&request, sizeof request, "segmentation offload");
}

int host_open_device(const char *name, unsigned address, int mtu, bool offload) {
    int device = MUST(open("/dev/net/tun", O_RDWR | O_NONBLOCK));
    int any = MUST(socket(AF_INET, SOCK_DGRAM, 0));
    struct sockaddr_in own = address_of(address), mask = address_of(htonl(0xffffff00));
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, name);
    MUST(ioctl(device, TUNSETIFF, &request));
    MUST(ioctl(any, SIOCGIFINDEX, &request));
    if (!offload)
        turn_segmentation_offload_off(request.ifr_ifindex);
    request.ifr_mtu = mtu;
    MUST(ioctl(any, SIOCSIFMTU, &request));
    request.ifr_qlen = QUEUE_PACKETS;
    MUST(ioctl(any, SIOCSIFTXQLEN, &request));
    memcpy(&request.ifr_addr, &own, sizeof own);
    MUST(ioctl(any, SIOCSIFADDR, &request));
    memcpy(&request.ifr_netmask, &mask, sizeof mask);
    MUST(ioctl(any, SIOCSIFNETMASK, &request));
    request.ifr_flags = IFF_UP;
    MUST(ioctl(any, SIOCSIFFLAGS, &request));
    close(any);
    return device;
}

struct host host_make(int number, int mtu, bool offload) {
    struct host host = {.address = htonl(0x0a000000 + number)};
    MUST(unshare(CLONE_NEWNET));
    host.namespace = MUST(open("/proc/self/ns/net", O_RDONLY));
    host.device = host_open_device("tun0", host.address, mtu, offload);
    return host;
}

void host_enter(const struct host *host) {
    MUST(setns(host->namespace, CLONE_NEWNET));
}

void host_set(const char *name, const char *value) {
    char path[256];
    snprintf(path, sizeof path, "/proc/sys/%s", name);
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, value, strlen(value)) < 0)
        fail("%s = %s: %m", path, value);
    close(file);
}
