/* Publications with other receivers than one known address: many destinations, groups, who asked for a response. */

#include "sender_rig.h"

static sender_rig_t *open_mode(apy_control_mode_t mode)
{
    sender_rig_t *s = sender_rig_start();
    apy_udp_channel_t channel = {.control_mode = mode, .has_explicit_control = true, APY_NO_TIMESTAMPS};
    channel.local_data = channel.local_control = rig_address(0);
    channel.remote_data = channel.remote_control = rig_address(0);
    ((struct sockaddr_in *)(void *)&channel.remote_data)->sin_addr.s_addr = INADDR_ANY;
    sender_rig_open_endpoint(s, &channel);
    apy_network_publication_params_t params = sender_rig_params(s);
    params.flow_control.kind = mode == APY_CONTROL_RESPONSE ? APY_FLOW_UNICAST : APY_FLOW_MAX;
    params.max_resend = 3;
    return sender_rig_open_with(&params, s);
}

static void give_sm(sender_rig_t *s, int socket, int64_t receiver_id, uint8_t flags, int32_t session_id)
{
    const apy_sm_t sm = {sizeof(sm),
                         0,
                         flags,
                         APY_FRAME_SM,
                         session_id,
                         session_id == 0 ? 0 : STREAM,
                         flags & APY_FLAG_SM_SEND_SETUP ? 0 : TERM,
                         0,
                         flags & APY_FLAG_SM_SEND_SETUP ? 0 : 32768,
                         receiver_id};
    rig_give(socket, &s->sender_address, &sm, sizeof(sm));
    sender_rig_cycle(s);
}

static int take_type(sender_rig_t *s, int socket)
{
    const int length = rig_take(socket, s->datagram, sizeof(s->datagram));
    return length < 0 ? -1 : ((const apy_frame_t *)(const void *)s->datagram)->type;
}

/* --- dynamic --- */

static void who_asks_a_dynamic_one_is_sent_to_until_it_is_silent_for_5_s(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_DYNAMIC);
    uint8_t sm[64]; /* of the captures: session 0, stream 0 */
    const size_t length =
        rig_hex("24 00 00 00 00 80 03 00 | 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                "11 a6 eb 48 0e 63 da dd",
                sm);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_SHORT_SENDS), 0); /* nobody there is as good as sent */
    rig_give(s->receiver, &s->sender_address, sm, length);
    sender_rig_cycle(s);
    CHECK_EQ(s->destination_count, 1);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(take_type(s, s->receiver), APY_FRAME_SETUP);
    CHECK_EQ(s->datagram[5], 0x40); /* a group */

    rig_advance(s->rig, 5 * RIG_SECOND - 101 * RIG_MS);
    sender_rig_cycle(s);
    CHECK_EQ(take_type(s, s->receiver), APY_FRAME_SETUP);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(take_type(s, s->receiver), -1);
    CHECK_EQ(s->destination_count, 0);
    sender_rig_close(s);
}

static void receivers_of_a_dynamic_one_are_told_apart_by_id_and_port(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_DYNAMIC);
    struct sockaddr_storage address;
    const int other = rig_socket(&address);
    give_sm(s, s->receiver, 1, 0, SESSION);
    give_sm(s, s->receiver, 1, 0, SESSION);
    CHECK_EQ(s->destination_count, 1);
    give_sm(s, other, 1, 0, SESSION);
    CHECK_EQ(s->destination_count, 2);
    give_sm(s, other, 2, 0, SESSION);
    CHECK_EQ(s->destination_count, 3);
    rig_drain(other);
    rig_drain(s->receiver);
    CHECK(sender_rig_offer(s, "x", 1) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(rig_drain(s->receiver), 1);
    CHECK_EQ(rig_drain(other), 2);
    close(other);
    sender_rig_close(s);
}

static void a_rejected_status_message_makes_no_destination(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_DYNAMIC);
    const apy_sm_t far = {sizeof(far), 0, 0, APY_FRAME_SM, SESSION, STREAM, TERM + 1, 0, 32768, 4};
    rig_give(s->receiver, &s->sender_address, &far, sizeof(far));
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_REJECTED), 1);
    CHECK_EQ(s->destination_count, 0);
    sender_rig_close(s);
}

/* --- manual --- */

static void a_manual_destination_is_sent_to_from_its_add_to_its_removal(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    struct sockaddr_storage address;
    const int other = rig_socket(&address);
    give_sm(s, other, 9, APY_FLAG_SM_SEND_SETUP, 0);
    CHECK_EQ(s->destination_count, 0); /* only clients add */

    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &s->receiver_address), APY_OK);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 32, &s->receiver_address), APY_OK);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(s->destination_count, 2);
    CHECK_EQ(rig_drain(s->receiver), 2); /* twice added, twice sent */
    CHECK_EQ(apy_sender_remove_destination(s->sender, s->endpoint, 31), APY_OK);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 33, &address), APY_OK);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(rig_drain(s->receiver), 1);
    CHECK_EQ(rig_drain(other), 1);
    CHECK_EQ(apy_sender_remove_destination(s->sender, s->endpoint, 32), APY_OK);
    CHECK_EQ(apy_sender_remove_destination(s->sender, s->endpoint, 32), APY_OK); /* gone already */
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(rig_drain(s->receiver), 0);
    CHECK_EQ(s->destination_count, 1);
    close(other);
    sender_rig_close(s);
}

/* To which address of this host the next datagram was sent; 0: there is none. */
static in_addr_t taken_at(int socket)
{
    uint8_t bytes[2048];
    _Alignas(struct cmsghdr) uint8_t control[256];
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    if (recvmsg(socket, &header, 0) < 0) {
        return 0;
    }
    struct cmsghdr *info = CMSG_FIRSTHDR(&header);
    CHECK(info != NULL && info->cmsg_type == IP_PKTINFO);
    struct in_pktinfo found;
    memcpy(&found, CMSG_DATA(info), sizeof(found));
    return found.ipi_addr.s_addr;
}

static void the_first_to_be_served_goes_round(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    struct sockaddr_in any = {.sin_family = AF_INET}, one, other;
    socklen_t length = sizeof(one);
    const int yes = 1, both = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    CHECK_EQ(bind(both, (const struct sockaddr *)&any, sizeof(any)), 0);
    CHECK_EQ(setsockopt(both, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes)), 0);
    CHECK_EQ(getsockname(both, (struct sockaddr *)&one, &length), 0);
    other = one;
    one.sin_addr.s_addr = inet_addr("127.0.0.1");
    other.sin_addr.s_addr = inet_addr("127.0.0.2");
    struct sockaddr_storage first = {0}, second = {0};
    memcpy(&first, &one, sizeof(one));
    memcpy(&second, &other, sizeof(other));
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &first), APY_OK);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 32, &second), APY_OK);
    sender_rig_cycle(s);
    rig_drain(both);
    in_addr_t served_first = 0;
    for (int i = 0; i < 4; i++) {
        sender_rig_step(s, 101 * RIG_MS);
        const in_addr_t now = taken_at(both);
        CHECK(now != 0 && now != served_first);
        served_first = now;
        CHECK(taken_at(both) != now);
        CHECK_EQ(taken_at(both), 0);
    }
    close(both);
    sender_rig_close(s);
}

static void a_destination_that_fails_holds_the_position(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    struct sockaddr_storage nowhere = s->receiver_address;
    ((struct sockaddr_in *)(void *)&nowhere)->sin_addr.s_addr = inet_addr("255.255.255.255"); /* needs SO_BROADCAST */
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &s->receiver_address), APY_OK);
    sender_rig_cycle(s);
    give_sm(s, s->receiver, 1, 0, SESSION);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 32, &nowhere), APY_OK);
    rig_drain(s->receiver);
    CHECK(sender_rig_offer(s, "x", 1) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 0);
    CHECK_EQ(sender_rig_take_data(s), 64);
    CHECK(sender_rig_count(s, APY_SC_ERRORS) > 0);
    CHECK_EQ(apy_sender_remove_destination(s->sender, s->endpoint, 32), APY_OK);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 64);
    CHECK_EQ(sender_rig_take_data(s), 64);
    sender_rig_close(s);
}

static void without_destinations_data_counts_as_sent(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &s->receiver_address), APY_OK);
    sender_rig_cycle(s);
    give_sm(s, s->receiver, 1, 0, SESSION);
    CHECK_EQ(apy_sender_remove_destination(s->sender, s->endpoint, 31), APY_OK);
    CHECK(sender_rig_offer(s, "x", 1) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 64);
    CHECK_EQ(sender_rig_count(s, APY_SC_SHORT_SENDS), 0);
    sender_rig_close(s);
}

static apy_inbox_silent_t take_silent(sender_rig_t *s)
{
    apy_inbox_silent_t silent;
    const rig_record_t record = rig_inbox(s->rig);
    CHECK_EQ(record.type, APY_INBOX_ADDRESS_SILENT);
    memcpy(&silent, record.bytes, sizeof(silent));
    return silent;
}

static void a_silent_destination_is_told_and_moved_to_its_new_address(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    struct sockaddr_storage address, unresolved;
    const int other = rig_socket(&address);
    memset(&unresolved, 0, sizeof(unresolved));
    s->rig->context.config.reresolution_check_interval_ns = RIG_SECOND;
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &s->receiver_address), APY_OK);
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 32, &unresolved), APY_OK);
    sender_rig_cycle(s);
    for (int i = 0; i < 5; i++) {
        sender_rig_step(s, RIG_SECOND);
        give_sm(s, s->receiver, 1, 0, SESSION);
        CHECK_EQ(rig_inbox(s->rig).type, 0);
    }
    sender_rig_step(s, RIG_SECOND);
    const apy_inbox_silent_t silent = take_silent(s);
    CHECK_EQ(silent.endpoint_id, 5);
    CHECK_EQ(silent.destination_id, 32);
    CHECK_EQ(silent.is_receive, 0);
    CHECK_EQ(rig_inbox(s->rig).type, 0);

    CHECK_EQ(apy_sender_move(s->sender, s->endpoint, 32, &address), APY_OK);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(rig_drain(other), 1);
    close(other);
    sender_rig_close(s);
}

static void the_address_of_a_silent_unicast_channel_is_replaced(void)
{
    sender_rig_t *s = sender_rig_start();
    struct sockaddr_storage address;
    const int other = rig_socket(&address);
    const apy_udp_channel_t channel = sender_rig_channel(s);
    s->rig->context.config.reresolution_check_interval_ns = RIG_SECOND;
    sender_rig_open_endpoint(s, &channel);
    const apy_network_publication_params_t params = sender_rig_params(s);
    sender_rig_open_with(&params, s);
    sender_rig_step(s, 5 * RIG_SECOND);
    CHECK_EQ(rig_inbox(s->rig).type, 0);
    sender_rig_step(s, RIG_SECOND);
    CHECK_EQ(take_silent(s).destination_id, -1);

    CHECK_EQ(apy_sender_move(s->sender, s->endpoint, -1, &address), APY_OK);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(take_type(s, other), APY_FRAME_SETUP);
    give_sm(s, s->receiver, 1, 0, SESSION); /* no longer heard: the socket is connected to the other one */
    CHECK_EQ(s->log.meta->is_connected, 0);
    give_sm(s, other, 1, 0, SESSION);
    CHECK_EQ(s->log.meta->is_connected, 1);
    close(other);
    sender_rig_close(s);
}

static void an_error_names_the_manual_destination_that_it_comes_from(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_MANUAL);
    const apy_err_t err = {sizeof(err), 0, 0, APY_FRAME_ERR, SESSION, STREAM, 1, -1, 13, 0};
    apy_inbox_publication_error_t error;
    CHECK_EQ(apy_sender_add_destination(s->sender, s->endpoint, 31, &s->receiver_address), APY_OK);
    sender_rig_cycle(s);
    give_sm(s, s->receiver, 1, 0, SESSION);
    rig_give(s->receiver, &s->sender_address, &err, sizeof(err));
    sender_rig_cycle(s);
    const rig_record_t record = rig_inbox(s->rig);
    CHECK_EQ(record.type, APY_INBOX_PUBLICATION_ERROR);
    memcpy(&error, record.bytes, sizeof(error));
    CHECK_EQ(error.destination_id, 31);
    sender_rig_close(s);
}

/* --- responses --- */

static void a_response_goes_to_who_asked_for_its_setup(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_RESPONSE);
    for (int i = 0; i < 3; i++) {
        sender_rig_step(s, 101 * RIG_MS);
    }
    CHECK_EQ(sender_rig_take(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_SHORT_SENDS), 0);
    give_sm(s, s->receiver, 1, APY_FLAG_SM_SEND_SETUP, SESSION);
    sender_rig_cycle(s);
    CHECK_EQ(take_type(s, s->receiver), APY_FRAME_SETUP);
    CHECK_EQ(s->datagram[5], 0);
    CHECK_EQ(rig_inbox(s->rig).type, 0);

    give_sm(s, s->receiver, 1, 0, SESSION);
    const rig_record_t record = rig_inbox(s->rig);
    apy_inbox_response_t response;
    CHECK_EQ(record.type, APY_INBOX_RESPONSE_CONNECTED);
    memcpy(&response, record.bytes, sizeof(response));
    CHECK_EQ(response.registration_id, 77);
    give_sm(s, s->receiver, 1, 0, SESSION);
    CHECK_EQ(rig_inbox(s->rig).type, 0); /* once */
    sender_rig_close(s);
}

static void that_somebody_listens_to_a_response_is_told_when_there_is_room(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_RESPONSE);
    uint8_t filler[1000] = {0};
    while (apy_mpsc_ring_write(&s->rig->inbox, 99, filler, sizeof(filler)) == APY_OK) {
    }
    while (apy_mpsc_ring_write(&s->rig->inbox, 99, filler, 8) == APY_OK) {
    }
    sender_rig_cycle(s);
    give_sm(s, s->receiver, 1, APY_FLAG_SM_SEND_SETUP, SESSION);
    give_sm(s, s->receiver, 1, 0, SESSION);
    while (rig_inbox(s->rig).type == 99) {
    }
    sender_rig_cycle(s);
    CHECK_EQ(rig_inbox(s->rig).type, APY_INBOX_RESPONSE_CONNECTED);
    sender_rig_close(s);
}

static void a_request_says_that_it_wants_a_response_and_hears_its_session(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.session_id = 111;
    params.stream_id = 2001;
    params.send_response_setup = true;
    sender_rig_open_with(&params, s);
    sender_rig_cycle(s);
    CHECK_EQ(take_type(s, s->receiver), APY_FRAME_SETUP);
    CHECK_EQ(s->datagram[5], 0x80);

    uint8_t captured[32];
    apy_inbox_response_t response;
    const size_t length = rig_hex("14 00 00 00 00 00 0b 00 | 6f 00 00 00 | d1 07 00 00 | de 00 00 00", captured);
    rig_give(s->receiver, &s->sender_address, captured, length);
    sender_rig_cycle(s);
    const rig_record_t record = rig_inbox(s->rig);
    CHECK_EQ(record.type, APY_INBOX_RESPONSE_SETUP);
    memcpy(&response, record.bytes, sizeof(response));
    CHECK_EQ(response.registration_id, 77);
    CHECK_EQ(response.session_id, 222);
    sender_rig_close(s);
}

static void who_wants_no_response_hears_of_none(void)
{
    sender_rig_t *s = sender_rig_open();
    const apy_rsp_setup_t rsp = {sizeof(rsp), 0, 0, APY_FRAME_RSP_SETUP, SESSION, STREAM, 222};
    rig_give(s->receiver, &s->sender_address, &rsp, sizeof(rsp));
    sender_rig_cycle(s);
    CHECK_EQ(rig_inbox(s->rig).type, 0);
    CHECK_EQ(sender_rig_count(s, APY_SC_INVALID_PACKETS), 0);
    sender_rig_close(s);
}

/* --- groups --- */

static void naks_of_a_group_are_answered_side_by_side(void)
{
    sender_rig_t *s = open_mode(APY_CONTROL_DYNAMIC);
    uint8_t payload[1000] = {0};
    give_sm(s, s->receiver, 1, 0, SESSION);
    for (int i = 0; i < 8; i++) {
        CHECK(sender_rig_offer(s, payload, sizeof(payload)) > 0);
        sender_rig_cycle(s);
    }
    rig_drain(s->receiver);
    for (int i = 0; i < 3; i++) {
        sender_rig_nak(s, TERM, i * 1056, 1056);
        CHECK_EQ(sender_rig_take_data(s), 1056);
    }
    sender_rig_nak(s, TERM, 0, 1056); /* under way */
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_nak(s, TERM, 3 * 1056, 1056); /* max_resend is 3 */
    CHECK_EQ(sender_rig_take_data(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMIT_OVERFLOW), 1);
    sender_rig_step(s, 11 * RIG_MS);
    sender_rig_nak(s, TERM, 3 * 1056, 1056);
    CHECK_EQ(sender_rig_take_data(s), 1056);
    sender_rig_close(s);
}

static void a_group_tag_makes_a_connection_where_one_is_required(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.flow_control.kind = APY_FLOW_TAGGED;
    params.flow_control.group_tag = 99;
    params.flow_control.group_min = 1;
    sender_rig_open_with(&params, s);
    sender_rig_cycle(s);
    sender_rig_sm(s, 0, TERM, 0, 32768);
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(s->snd_lmt, 0);

    uint8_t tagged[64]; /* of the captures */
    const size_t length = rig_hex("2c 00 00 00 00 00 03 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00"
                                  "00 80 00 00 | 10 4b c5 af f6 4c c9 1e | 63 00 00 00 00 00 00 00",
                                  tagged);
    rig_give(s->receiver, &s->sender_address, tagged, length);
    sender_rig_cycle(s);
    CHECK_EQ(s->log.meta->is_connected, 1);
    CHECK_EQ(s->snd_lmt, 32768);
    CHECK_EQ(s->receiver_count, 1);
    sender_rig_close(s);
}

int main(void)
{
    RUN(who_asks_a_dynamic_one_is_sent_to_until_it_is_silent_for_5_s);
    RUN(receivers_of_a_dynamic_one_are_told_apart_by_id_and_port);
    RUN(a_rejected_status_message_makes_no_destination);
    RUN(a_manual_destination_is_sent_to_from_its_add_to_its_removal);
    RUN(the_first_to_be_served_goes_round);
    RUN(a_destination_that_fails_holds_the_position);
    RUN(without_destinations_data_counts_as_sent);
    RUN(a_silent_destination_is_told_and_moved_to_its_new_address);
    RUN(the_address_of_a_silent_unicast_channel_is_replaced);
    RUN(an_error_names_the_manual_destination_that_it_comes_from);
    RUN(a_response_goes_to_who_asked_for_its_setup);
    RUN(that_somebody_listens_to_a_response_is_told_when_there_is_room);
    RUN(a_request_says_that_it_wants_a_response_and_hears_its_session);
    RUN(who_wants_no_response_hears_of_none);
    RUN(naks_of_a_group_are_answered_side_by_side);
    RUN(a_group_tag_makes_a_connection_where_one_is_required);
    return 0;
}
