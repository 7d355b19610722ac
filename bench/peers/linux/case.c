/* Words are separated by single spaces. Numbers are whole: nanoseconds, bit/s, packets, indexes from 0. */
#define _GNU_SOURCE
#include "case.h"

#include "failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *words; /* The rest of the line. */

static char *word(void) {
    char *next = strsep(&words, " \n");
    if (!next || !*next)
        fail("a line of the case ends too early");
    return next;
}

static uint64_t number(void) {
    return strtoull(word(), NULL, 10);
}

/* A count that must be below `room`. */
static int count(int room) {
    uint64_t value = number();
    if (value >= (uint64_t)room)
        fail("%lu in the case, where less than %d is possible", value, room);
    return value;
}

static void read_link(struct link *link) {
    link->rate_bps = number();
    link->delay_ns = number();
    link->limit = number();
    link->mark = number();
    link->lost_count = number();
    link->lost = calloc(link->lost_count + 1, sizeof *link->lost);
    for (size_t index = 0; index < link->lost_count; index++)
        link->lost[index] = number();
}

/* A message of rtnetlink, in hexadecimal digits. */
static void read_message(struct run *run) {
    struct message *message = &run->messages[run->message_count++];
    message->link = count(MOST_LINKS);
    const char *digits = word();
    message->bytes = strlen(digits) / 2;
    message->data = malloc(message->bytes);
    for (size_t index = 0; index < message->bytes; index++)
        sscanf(digits + 2 * index, "%2hhx", &message->data[index]);
}

static void read_path(struct path *path) {
    path->hops = count(MOST_HOPS);
    for (int hop = 0; hop < path->hops; hop++)
        path->links[hop] = count(MOST_LINKS);
}

static enum select read_select(void) {
    static const char *const names[] = {"first", "round-robin", "random"};
    char *name = word();
    for (int select = FIRST; select <= RANDOM; select++)
        if (strcmp(name, names[select]) == 0)
            return select;
    fail("no such selector: %s", name);
}

static void read_course(struct course *course) {
    course->select = read_select();
    course->count = count(MOST_PATHS);
    for (int path = 0; path < course->count; path++)
        course->paths[path] = count(MOST_PATHS);
}

static void read_flow(struct flow *flow, struct course courses[DIRECTIONS]) {
    *flow = (struct flow){.listener = -1, .sender = -1, .receiver = -1};
    snprintf(flow->congestion, sizeof flow->congestion, "%s", word());
    flow->start_ns = number();
    flow->bytes = flow->unwritten = number();
    read_course(&courses[AHEAD]);
    read_course(&courses[BACK]);
}

static void read_line(struct run *run) {
    struct network *network = &run->network;
    char *kind = word();
    if (strcmp(kind, "end") == 0)
        run->end_ns = number();
    else if (strcmp(kind, "warm_up") == 0)
        run->warm_up_ns = number();
    else if (strcmp(kind, "mtu") == 0)
        run->mtu = number();
    else if (strcmp(kind, "offload") == 0)
        run->offload = number();
    else if (strcmp(kind, "seed") == 0)
        network->random = number();
    else if (strcmp(kind, "set") == 0) {
        struct setting *setting = &run->settings[run->setting_count++];
        setting->name = strdup(word());
        setting->value = strndup(words, strcspn(words, "\n"));
    } else if (strcmp(kind, "link") == 0)
        read_link(&network->links[network->link_count++]);
    else if (strcmp(kind, "path") == 0)
        read_path(&network->paths[network->path_count++]);
    else if (strcmp(kind, "flow") == 0) {
        int index = run->flow_count++;
        read_flow(&run->flows[index], network->courses[index]);
    } else if (strcmp(kind, "tc") == 0)
        read_message(run);
    else if (strcmp(kind, "probe") == 0) {
        run->probe_interval_ns = number();
        run->probe.next_ns = number();
        read_course(&network->courses[PROBE][AHEAD]);
    } else
        fail("no such line in a case: %s", kind);
}

void case_read(const char *path, struct run *run) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    if (!file)
        fail("%s: %m", path);
    while (getline(&line, &room, file) > 0) {
        words = line;
        read_line(run);
    }
    free(line);
    fclose(file);
}
