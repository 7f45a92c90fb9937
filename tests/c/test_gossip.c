/* Drivers telling one another their names: who learns what when, what is forgotten, and what strangers can do. */
#include "apy/gossip.h"

#include "driver_rig.h"

#define TIMEOUT_MS 1000
#define SELF_MS 100
#define NEIGHBOR_MS 200

typedef struct node {
    apy_gossip_t *gossip;
    int64_t neighbors, names;
} node_t;

static void node_open(node_t *node, rig_t *rig, const char *name, uint16_t port)
{
    const apy_gossip_params_t params = {
        .name = name,
        .bind_to = rig_address(port),
        .neighbor_timeout_ms = TIMEOUT_MS,
        .self_interval_ms = SELF_MS,
        .neighbor_interval_ms = NEIGHBOR_MS,
        .neighbor_count = &node->neighbors,
        .cache_count = &node->names,
    };
    CHECK_EQ(apy_gossip_open(&rig->context, &params, &node->gossip), APY_OK);
}

static void know(node_t *node, const node_t *other)
{
    apy_gossip_set_bootstrap(node->gossip, 0, apy_gossip_bound_address(other->gossip));
}

static void run(rig_t *rig, node_t *nodes, int count, int ms)
{
    for (int at = 0; at < ms; at += 10) {
        rig_advance(rig, 10 * RIG_MS);
        for (int i = 0; i < count; i++) {
            apy_gossip_do_work(nodes[i].gossip);
        }
    }
}

static bool finds(node_t *node, const char *name)
{
    struct sockaddr_storage address;
    return apy_gossip_find(node->gossip, name, &address) == 1;
}

static void a_third_driver_is_learnt_through_a_second(void)
{
    rig_t *rig = rig_open();
    node_t nodes[3];
    memset(nodes, 0, sizeof(nodes));
    node_open(&nodes[0], rig, "alpha", 0);
    node_open(&nodes[1], rig, "bravo", 0);
    node_open(&nodes[2], rig, "charlie", 0);
    know(&nodes[1], &nodes[0]);
    know(&nodes[2], &nodes[1]);

    run(rig, nodes, 3, 30);
    CHECK(finds(&nodes[0], "bravo")); /* the first word goes out at once */
    CHECK(finds(&nodes[1], "charlie"));
    CHECK(!finds(&nodes[0], "charlie"));
    run(rig, nodes, 3, 3 * NEIGHBOR_MS);
    CHECK(finds(&nodes[0], "charlie"));
    CHECK(finds(&nodes[2], "alpha"));
    CHECK(!finds(&nodes[0], "alpha")); /* its own name is not heard back */
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(nodes[i].neighbors, 2);
        CHECK_EQ(nodes[i].names, 2);
        CHECK(apy_gossip_is_neighbor(nodes[i].gossip, apy_gossip_bound_address(nodes[(i + 1) % 3].gossip)));
    }
    struct sockaddr_storage found;
    CHECK_EQ(apy_gossip_find(nodes[0].gossip, "charlie", &found), 1);
    const struct sockaddr_storage loopback = rig_address(0);
    CHECK(apy_address_equal(&found, &loopback)); /* the gossip port means nothing to who asks */

    apy_gossip_free(nodes[2].gossip);
    run(rig, nodes, 2, 3 * TIMEOUT_MS);
    CHECK(!finds(&nodes[0], "charlie"));
    CHECK(!finds(&nodes[1], "charlie"));
    CHECK(finds(&nodes[0], "bravo"));
    CHECK_EQ(nodes[0].neighbors, 1);
    apy_gossip_free(nodes[0].gossip);
    apy_gossip_free(nodes[1].gossip);
    rig_close(rig);
}

/* --- strangers --- */

typedef struct stranger {
    rig_t *rig;
    node_t node;
    int socket;
    struct sockaddr_storage address;
    uint8_t frame[4096];
    size_t length;
} stranger_t;

static stranger_t *stranger_open(void)
{
    stranger_t *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->rig = rig_open();
    node_open(&s->node, s->rig, "alpha", 0);
    s->socket = rig_socket(&s->address);
    run(s->rig, &s->node, 1, 10);
    return s;
}

static void stranger_close(stranger_t *s)
{
    close(s->socket);
    apy_gossip_free(s->node.gossip);
    rig_close(s->rig);
    free(s);
}

static void say(stranger_t *s, const char *name, bool is_self, const uint8_t *ip, uint16_t port, int32_t age_ms)
{
    apy_resolution_t entry = {.type = APY_RESOLUTION_V4,
                              .is_self = is_self,
                              .port = port,
                              .age_ms = age_ms,
                              .name = name,
                              .name_length = (int32_t)strlen(name)};
    memcpy(entry.address, ip, 4);
    if (s->length == 0) {
        s->length = apy_resolution_begin(s->frame, sizeof(s->frame));
    }
    s->length = apy_resolution_append(s->frame, sizeof(s->frame), s->length, &entry);
}

static void hear(stranger_t *s)
{
    uint8_t *copy = malloc(s->length);
    CHECK(copy != NULL);
    memcpy(copy, s->frame, s->length);
    apy_gossip_on_datagram(s->node.gossip, copy, s->length, &s->address, s->rig->hand.nano_time / RIG_MS);
    free(copy);
    s->length = 0;
}

/* Datagrams that came to the stranger's socket. */
static int told(stranger_t *s, size_t *bytes)
{
    uint8_t datagram[2048];
    int count = 0;
    *bytes = 0;
    for (ssize_t length = 0; (length = recv(s->socket, datagram, sizeof(datagram), MSG_DONTWAIT)) >= 0; count++) {
        *bytes += (size_t)length;
    }
    return count;
}

static const uint8_t loopback[4] = {127, 0, 0, 1}, wildcard[4] = {0, 0, 0, 0};

static void a_wildcard_becomes_where_the_word_came_from(void)
{
    stranger_t *s = stranger_open();
    say(s, "bravo", true, wildcard, 9999, 0);
    hear(s);
    CHECK(finds(&s->node, "bravo"));
    CHECK(apy_gossip_is_neighbor(s->node.gossip, &s->address));
    stranger_close(s);
}

static void what_cannot_be_true_is_not_believed(void)
{
    stranger_t *s = stranger_open();
    say(s, "future", false, loopback, 7, -5);
    say(s, "past", false, loopback, 7, TIMEOUT_MS);
    say(s, "nowhere", false, wildcard, 7, 0);
    say(s, "no port", false, loopback, 7, 0);
    say(s, "noport", false, loopback, 0, 0);
    say(s, "bell\a", false, loopback, 7, 0);
    say(s, "alpha", true, loopback, rig_port(apy_gossip_bound_address(s->node.gossip)), 0);
    say(s, "good", false, loopback, 7, TIMEOUT_MS - 100);
    hear(s);
    run(s->rig, &s->node, 1, 10);
    CHECK_EQ(s->node.names, 1);
    CHECK(finds(&s->node, "good"));
    run(s->rig, &s->node, 1, 100); /* as old as it was said to be */
    CHECK(!finds(&s->node, "good"));
    CHECK_EQ(s->node.neighbors, 0);
    stranger_close(s);
}

static void a_broken_tail_counts_and_keeps_what_stood_before_it(void)
{
    stranger_t *s = stranger_open();
    say(s, "bravo", false, loopback, 7, 0);
    say(s, "charlie", false, loopback, 7, 0);
    s->frame[APY_RESOLUTION_HEADER + 24] = 9; /* the second's type */
    hear(s);
    CHECK(finds(&s->node, "bravo"));
    CHECK(!finds(&s->node, "charlie"));
    CHECK_EQ(s->rig->counters[APY_SC_INVALID_PACKETS], 1);
    stranger_close(s);
}

static void hearsay_is_told_our_name_once_each_time_and_never_the_cache(void)
{
    stranger_t *s = stranger_open();
    const uint16_t victim = rig_port(&s->address);
    struct sockaddr_storage liar = rig_address(1);
    size_t bytes = 0;
    say(s, "victim", true, loopback, victim, 0); /* it claims to speak of itself, from elsewhere */
    const size_t heard = s->length;
    apy_gossip_on_datagram(s->node.gossip, s->frame, s->length, &liar, s->rig->hand.nano_time / RIG_MS);
    run(s->rig, &s->node, 1, 5 * NEIGHBOR_MS - 20);
    CHECK_EQ(told(s, &bytes), 1);
    CHECK(bytes <= heard);

    s->length = 0;
    say(s, "victim", true, loopback, victim, 0);
    hear(s); /* now it did come from there */
    run(s->rig, &s->node, 1, NEIGHBOR_MS + 10);
    CHECK(told(s, &bytes) >= 3);
    stranger_close(s);
}

static void a_flood_of_names_stays_within_bounds(void)
{
    stranger_t *s = stranger_open();
    say(s, "friend", true, loopback, rig_port(&s->address), 0);
    hear(s);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        const uint8_t ip[4] = {10, 1, (uint8_t)(i >> 8), (uint8_t)i};
        snprintf(name, sizeof(name), "flood-%d", i);
        say(s, name, i % 2 == 0, ip, 7, 0);
        hear(s);
    }
    CHECK(finds(&s->node, "friend"));
    CHECK(finds(&s->node, "flood-1000"));
    CHECK(!finds(&s->node, "flood-2999"));
    run(s->rig, &s->node, 1, 2 * TIMEOUT_MS);
    CHECK_EQ(s->node.names, 0);
    CHECK_EQ(s->node.neighbors, 0);
    stranger_close(s);
}

int main(void)
{
    RUN(a_third_driver_is_learnt_through_a_second);
    RUN(a_wildcard_becomes_where_the_word_came_from);
    RUN(what_cannot_be_true_is_not_believed);
    RUN(a_broken_tail_counts_and_keeps_what_stood_before_it);
    RUN(hearsay_is_told_our_name_once_each_time_and_never_the_cache);
    RUN(a_flood_of_names_stays_within_bounds);
    return 0;
}
