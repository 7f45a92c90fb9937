/* Several sockets of one endpoint, explicit control addresses, multicast, and what the receiver sends over each. */

#include "receiver_rig.h"

/* One more destination of the rig's endpoint, with a raw publisher of its own. */
typedef struct source {
    apy_receive_destination_t *destination;
    int publisher;
    struct sockaddr_storage address, to;
} source_t;

static source_t open_source(receiver_rig_t *r, int64_t id, bool has_control)
{
    source_t source = {0};
    apy_udp_channel_t channel = r->channel;
    source.publisher = rig_socket(&source.address);
    channel.has_explicit_control = has_control;
    if (has_control) {
        channel.local_data = channel.local_control = source.address;
    }
    CHECK_EQ(apy_receive_destination_open(r->endpoint, &channel, id, &source.destination), APY_OK);
    source.to = *apy_receive_destination_bound_address(source.destination);
    CHECK_EQ(apy_receiver_add_destination(r->receiver, source.destination), APY_OK);
    receiver_rig_cycle(r);
    return source;
}

static void close_source(source_t *source)
{
    apy_receive_destination_free(source->destination);
    close(source->publisher);
}

static void give(receiver_rig_t *r, const source_t *source, const void *datagram, size_t length)
{
    rig_give(source->publisher, &source->to, datagram, length);
    receiver_rig_cycle(r);
}

static void give_heartbeat(receiver_rig_t *r, const source_t *source, uint8_t flags, int64_t position)
{
    const apy_frame_t frame = receiver_rig_frame(0, flags, APY_FRAME_DATA, position);
    give(r, source, &frame, sizeof(frame));
}

static int take(receiver_rig_t *r, const source_t *source)
{
    return rig_take(source->publisher, r->datagram, sizeof(r->datagram));
}

static const apy_sm_t *taken_sm(const receiver_rig_t *r)
{
    return (const apy_sm_t *)(const void *)r->datagram;
}

static void answers_go_to_every_source_that_is_alive(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    source_t other = open_source(r, 7, false);
    rig_drain(r->publisher);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), 36);
    CHECK_EQ(take(r, &other), -1); /* who it is is not known yet */

    give_heartbeat(r, &other, 0xC0, 64);
    receiver_rig_step(r, 2000);
    receiver_rig_cycle(r);
    CHECK_EQ(take(r, &other), 28); /* the tail that the heartbeat shows is asked for on both */
    CHECK_EQ(receiver_rig_take(r), 28);
    CHECK_EQ(receiver_rig_count(r, APY_SC_NAKS_SENT), 2);
    receiver_rig_step(r, 201 * RIG_MS);
    receiver_rig_take_type(r, APY_FRAME_SM);
    CHECK_EQ(taken_sm(r)->receiver_id, (int64_t)UINT64_C(0xbb2f33daabed3e78));
    while (take(r, &other) == 28) {
    }
    CHECK_EQ(taken_sm(r)->type, APY_FRAME_SM);
    CHECK_EQ(taken_sm(r)->receiver_id, (int64_t)UINT64_C(0xbb2f33daabed3e78));
    CHECK_EQ(r->log.meta->active_transport_count, 2);

    /* The first publisher falls silent: after five seconds it is spoken to no more. */
    for (int i = 0; i < 6; i++) {
        give_heartbeat(r, &other, 0xC0, 0);
        receiver_rig_step(r, RIG_SECOND);
    }
    rig_drain(r->publisher);
    rig_drain(other.publisher);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), -1);
    CHECK(take(r, &other) > 0);
    receiver_rig_close(r);
    close_source(&other);
}

static void a_stream_ends_when_it_ended_on_every_connection(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    source_t other = open_source(r, 7, false);
    give_heartbeat(r, &other, 0xC0, 0);
    receiver_rig_heartbeat(r, 0xE0, 64);
    CHECK_EQ(r->log.meta->end_of_stream_position, INT64_MAX);
    give_heartbeat(r, &other, 0xE0, 96);
    CHECK_EQ(r->log.meta->end_of_stream_position, 96);
    receiver_rig_close(r);
    close_source(&other);
}

static void a_removed_destination_no_longer_holds_the_end_back(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    source_t other = open_source(r, 7, false); /* it never carries the stream, but it may: it holds the end back */
    receiver_rig_heartbeat(r, 0xE0, 64);
    CHECK_EQ(r->log.meta->end_of_stream_position, INT64_MAX);
    CHECK_EQ(apy_receiver_remove_destination(r->receiver, other.destination), APY_OK);
    receiver_rig_cycle(r);
    const rig_record_t record = rig_inbox(r->rig);
    apy_inbox_released_t released;
    CHECK_EQ(record.type, APY_INBOX_RECEIVE_DESTINATION_RELEASED);
    memcpy(&released, record.bytes, sizeof(released));
    CHECK_EQ(released.id, 7);
    receiver_rig_heartbeat(r, 0xE0, 64);
    CHECK_EQ(r->log.meta->end_of_stream_position, 64);
    receiver_rig_close(r);
    close_source(&other);
}

static void a_destination_from_before_the_image_that_never_carried_it_does_not_hold_the_end_back(void)
{
    receiver_rig_t *r = receiver_rig_open();
    source_t other = open_source(r, 7, false);
    receiver_rig_image(r);
    receiver_rig_heartbeat(r, 0xE0, 64);
    CHECK_EQ(r->log.meta->end_of_stream_position, 64);
    receiver_rig_close(r);
    close_source(&other);
}

static void what_one_destination_loses_another_may_bring(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    source_t others[3];
    for (int i = 0; i < 3; i++) {
        others[i] = open_source(r, 7 + i, false);
    }
    for (int64_t position = 0; position < 40 * 64; position += 64) {
        uint8_t datagram[64] = {0};
        const apy_frame_t frame = receiver_rig_frame(64, 0xC0, APY_FRAME_DATA, position);
        memcpy(datagram, &frame, sizeof(frame));
        give(r, &others[position / 64 % 3], datagram, sizeof(datagram));
    }
    CHECK_EQ(r->rcv_pos, 40 * 64);
    receiver_rig_close(r);
    for (int i = 0; i < 3; i++) {
        close_source(&others[i]);
    }
}

static void a_rejection_goes_to_all_connections(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    source_t other = open_source(r, 7, false);
    give_heartbeat(r, &other, 0xC0, 0);
    rig_drain(r->publisher);
    rig_drain(other.publisher);
    apy_image_reject(r->image, "no", 2);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), 42);
    CHECK_EQ(take(r, &other), 42);
    CHECK_EQ(receiver_rig_count(r, APY_SC_ERROR_FRAMES_SENT), 2);
    receiver_rig_close(r);
    close_source(&other);
}

static void a_known_publisher_is_asked_at_once_and_every_second_while_something_is_wanted(void)
{
    receiver_rig_t *r = receiver_rig_prepare();
    r->channel.has_group_tag = true;
    r->channel.group_tag = 5;
    receiver_rig_start(r);
    source_t known = open_source(r, 7, true);
    const char *const asked = "2c 00 00 00 00 80 03 00 | 00 00 00 00 | 00 00 00 00 | 00 00 00 00 | 00 00 00 00"
                              "00 00 00 00 | 78 3e ed ab da 33 2f bb | 05 00 00 00 00 00 00 00";
    rig_expect(r->datagram, take(r, &known), asked);
    receiver_rig_step(r, RIG_SECOND);
    CHECK_EQ(take(r, &known), -1);
    receiver_rig_step(r, 1);
    rig_expect(r->datagram, take(r, &known), asked);

    CHECK_EQ(apy_receiver_remove_stream(r->receiver, r->endpoint, STREAM), APY_OK);
    receiver_rig_step(r, 2 * RIG_SECOND);
    CHECK_EQ(take(r, &known), -1);

    /* One session is asked for when it is added, and when it is asked for again. */
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(apy_receiver_add_session(r->receiver, r->endpoint, STREAM, SESSION), APY_OK);
        receiver_rig_step(r, 1);
        CHECK_EQ(take(r, &known), 44);
        if (taken_sm(r)->session_id == 0) { /* its second was over */
            CHECK_EQ(take(r, &known), 44);
        }
        CHECK_EQ(taken_sm(r)->session_id, SESSION);
        CHECK_EQ(taken_sm(r)->stream_id, STREAM);
        CHECK_EQ(taken_sm(r)->flags, APY_FLAG_SM_SEND_SETUP);
        rig_drain(known.publisher);
    }
    receiver_rig_close(r);
    close_source(&known);
}

static void a_silent_control_address_is_told_and_its_successor_gets_everything(void)
{
    receiver_rig_t *r = receiver_rig_open();
    r->rig->context.config.reresolution_check_interval_ns = RIG_SECOND;
    source_t known = open_source(r, 7, true);
    receiver_rig_image(r);
    give_heartbeat(r, &known, 0xC0, 0);
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    receiver_rig_step(r, 5 * RIG_SECOND);
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    receiver_rig_step(r, RIG_SECOND);
    const rig_record_t record = rig_inbox(r->rig);
    apy_inbox_silent_t silent;
    CHECK_EQ(record.type, APY_INBOX_ADDRESS_SILENT);
    memcpy(&silent, record.bytes, sizeof(silent));
    CHECK_EQ(silent.endpoint_id, 6);
    CHECK_EQ(silent.destination_id, 7);
    CHECK_EQ(silent.is_receive, 1);
    receiver_rig_step(r, RIG_SECOND);
    CHECK_EQ(rig_inbox(r->rig).type, 0); /* the next five seconds began */

    struct sockaddr_storage moved;
    const int successor = rig_socket(&moved);
    CHECK_EQ(apy_receiver_set_control(r->receiver, known.destination, &moved), APY_OK);
    rig_drain(known.publisher);
    receiver_rig_step(r, 2 * RIG_SECOND);
    CHECK(rig_take(successor, r->datagram, sizeof(r->datagram)) == 36); /* elicited there */
    CHECK_EQ(taken_sm(r)->session_id, 0);
    give_heartbeat(r, &known, 0xC0, 0);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(rig_take(successor, r->datagram, sizeof(r->datagram)), 36);
    CHECK_EQ(taken_sm(r)->session_id, SESSION);
    CHECK_EQ(take(r, &known), -1);
    receiver_rig_close(r);
    close_source(&known);
    close(successor);
}

static void multicast_is_received_from_the_group_and_answered_to_its_neighbour(void)
{
    receiver_rig_t *r = receiver_rig_prepare();
    struct sockaddr_storage group = rig_address(0), control, anywhere = rig_address(0);
    /* A port that is free now. */
    const int probe = rig_socket(&anywhere);
    close(probe);
    ((struct sockaddr_in *)(void *)&group)->sin_port = htons(rig_port(&anywhere));
    control = group;
    ((struct sockaddr_in *)(void *)&group)->sin_addr.s_addr = inet_addr("224.20.30.39");
    ((struct sockaddr_in *)(void *)&control)->sin_addr.s_addr = inet_addr("224.20.30.40");
    r->channel.is_multicast = true;
    r->channel.remote_data = group;
    r->channel.remote_control = control;
    r->channel.interface_index = if_nametoindex("lo");
    r->channel.ttl = 1;
    receiver_rig_start(r);
    receiver_rig_cycle(r);

    /* The publisher's control side: one more socket, in the control group. */
    apy_udp_transport_t listener;
    struct sockaddr_storage any = control;
    ((struct sockaddr_in *)(void *)&any)->sin_addr.s_addr = INADDR_ANY;
    CHECK_EQ(apy_udp_transport_open(&listener, &r->channel, &any, NULL, &control), APY_OK);
    const struct ip_mreqn lo = {.imr_ifindex = (int)if_nametoindex("lo")};
    CHECK_EQ(setsockopt(r->publisher, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo)), 0);

    r->receiver_address = group;
    receiver_rig_data(r, 0, 12); /* late: only data is to be heard, so a SETUP is asked for */
    CHECK_EQ(rig_take(listener.fd, r->datagram, sizeof(r->datagram)), 36);
    CHECK_EQ(taken_sm(r)->flags, APY_FLAG_SM_SEND_SETUP);
    CHECK_EQ(receiver_rig_take(r), -1); /* the publisher itself is not answered */
    apy_setup_t setup = receiver_rig_setup();
    setup.ttl = 3;
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(receiver_rig_count(r, APY_SC_POSSIBLE_TTL_ASYMMETRY), 1);
    CHECK_EQ(rig_inbox(r->rig).type, APY_INBOX_SETUP);
    receiver_rig_image(r);
    CHECK_EQ(rig_take(listener.fd, r->datagram, sizeof(r->datagram)), 36);
    CHECK_EQ(taken_sm(r)->flags, 0);
    receiver_rig_data(r, 64, 12);
    receiver_rig_step(r, 10 * RIG_MS);
    receiver_rig_cycle(r);
    CHECK_EQ(rig_take(listener.fd, r->datagram, sizeof(r->datagram)), 28);
    apy_udp_transport_close(&listener);
    receiver_rig_close(r);
}

static void a_requester_is_told_its_response_session_before_each_status_message(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    rig_drain(r->publisher);
    const int32_t session = 222;
    apy_image_set_response(r->image, &session);
    receiver_rig_cycle(r);
    for (int i = 0; i < 2; i++) {
        rig_expect(r->datagram, receiver_rig_take(r),
                   "14 00 00 00 00 00 0b 00 | 34 12 00 00 | e9 03 00 00 | de 00 00 00");
        CHECK_EQ(receiver_rig_take(r), 36);
        CHECK_EQ(receiver_rig_take(r), -1);
        receiver_rig_step(r, 201 * RIG_MS);
    }
    rig_drain(r->publisher);
    apy_image_set_response(r->image, NULL);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), 36);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_close(r);
}

int main(void)
{
    RUN(answers_go_to_every_source_that_is_alive);
    RUN(a_stream_ends_when_it_ended_on_every_connection);
    RUN(a_removed_destination_no_longer_holds_the_end_back);
    RUN(a_destination_from_before_the_image_that_never_carried_it_does_not_hold_the_end_back);
    RUN(what_one_destination_loses_another_may_bring);
    RUN(a_rejection_goes_to_all_connections);
    RUN(a_known_publisher_is_asked_at_once_and_every_second_while_something_is_wanted);
    RUN(a_silent_control_address_is_told_and_its_successor_gets_everything);
    RUN(multicast_is_received_from_the_group_and_answered_to_its_neighbour);
    RUN(a_requester_is_told_its_response_session_before_each_status_message);
    return 0;
}
