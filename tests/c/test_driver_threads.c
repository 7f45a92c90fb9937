/* A driver's three threads while streams flow through what the decision thread adds, moves, refuses and removes. */

#include <pthread.h> /* as all that the thread sanitizer runs */

#include "threads_rig.h"

#define TOTAL (2 << 20)
#define BATCH 100

/* Offer up to a batch; where the stream is then. */
static int64_t flow(threads_rig_t *rig, threads_publication_t *p)
{
    for (int i = 0; i < BATCH && threads_offer(p); i++) {
    }
    threads_turn(rig);
    return apy_exclusive_position(&p->append);
}

static int64_t count(const threads_rig_t *rig, int counter)
{
    return apy_load_acquire_i64(rig->driver.context.system_counters[counter]);
}

/* Until the image of an endpoint has read all that was offered. */
static void finish(threads_rig_t *rig, const threads_publication_t *p, const threads_endpoint_t *e)
{
    const threads_image_t *image;
    while ((image = threads_image_of(rig, e)) == NULL || image->sub_pos < apy_exclusive_position(&p->append)) {
        threads_turn(rig);
    }
    CHECK_EQ(image->sub_pos, apy_exclusive_position(&p->append));
}

static threads_publication_t *publish_to_many(threads_rig_t *rig, apy_flow_control_kind_t kind)
{
    apy_udp_channel_t channel = threads_channel();
    channel.control_mode = APY_CONTROL_MANUAL;
    channel.has_explicit_control = true;
    channel.has_explicit_endpoint = false;
    return threads_publish(rig, &channel, (apy_network_publication_params_t){.session_id = 7, .flow_control = {kind}});
}

static void destinations_and_spies_come_and_go_while_a_stream_flows(void)
{
    threads_rig_t *rig = threads_open(10000 * THREADS_MS);
    const apy_udp_channel_t channel = threads_channel();
    apy_conductor_t *conductor = rig->driver.conductor;
    threads_publication_t *p = publish_to_many(rig, APY_FLOW_MIN);
    const threads_endpoint_t *stays = threads_subscribe(rig, &channel, NULL);
    const threads_endpoint_t *moves = threads_subscribe(rig, &channel, NULL);
    const struct sockaddr_storage unknown = {0};
    int64_t spy_position = 0, join_position = 0;
    const apy_subscriber_t spy = {.registration_id = 2, .position = &spy_position, .tether = true};
    THREADS_ASK(rig, apy_conductor_add_send_destination(conductor, p->endpoint, 1, &stays->address));
    while (threads_image_of(rig, stays) == NULL) {
        threads_turn(rig);
    }

    for (int round = 0; round < 8; round++) {
        const int64_t id = 10 + round;
        const uint64_t taken = moves->frames_taken;
        const int gone = rig->images_gone;
        THREADS_ASK(rig, apy_conductor_add_send_destination(conductor, p->endpoint, id, &unknown));
        THREADS_ASK(rig, apy_conductor_move_send_endpoint(conductor, p->endpoint, id, &moves->address));
        CHECK_EQ(apy_conductor_join_publication(conductor, p->publication, &spy, &join_position), 1);
        while (moves->frames_taken < taken + 100) {
            (void)flow(rig, p);
            apy_store_release_i64(&spy_position, apy_load_acquire_i64(&p->snd_pos));
        }
        THREADS_ASK(rig, apy_conductor_remove_send_destination(conductor, p->endpoint, id));
        CHECK_EQ(apy_conductor_leave_publication(conductor, p->publication, 2), 1);
        CHECK_EQ(apy_conductor_leave_image(conductor, threads_image_of(rig, moves)->image, 1), 1);
        while (rig->images_gone == gone) {
            (void)flow(rig, p);
        }
    }
    finish(rig, p, stays);
    CHECK_EQ(rig->images_gone, 8);
    CHECK(rig->traced[APY_TRACE_RECEIVER_ADDED] >= 9);
    CHECK(rig->traced[APY_TRACE_RECEIVER_REMOVED] >= 8);
    CHECK(count(rig, APY_SC_RETRANSMITS_SENT) > 0);
    CHECK_EQ(count(rig, APY_SC_ERRORS), 0);
    threads_stop(rig);
    threads_unpublish(p);
    threads_close(rig);
}

static void receive_destinations_come_and_go_while_a_stream_flows(void)
{
    threads_rig_t *rig = threads_open(10000 * THREADS_MS);
    const apy_udp_channel_t channel = threads_channel();
    apy_conductor_t *conductor = rig->driver.conductor;
    threads_publication_t *p = publish_to_many(rig, APY_FLOW_MAX);
    const threads_endpoint_t *e = threads_subscribe(rig, &channel, NULL);
    THREADS_ASK(rig, apy_conductor_add_send_destination(conductor, p->endpoint, 1, &e->address));
    int64_t position = 0;
    for (int rounds = 0; position < TOTAL || rounds < 12; rounds++) {
        apy_receive_destination_t *second;
        CHECK_EQ(apy_receive_destination_open(e->endpoint, &channel, 500 + rounds, &second), APY_OK);
        const struct sockaddr_storage *address = apy_receive_destination_bound_address(second);
        THREADS_ASK(rig, apy_conductor_add_receive_destination(conductor, second));
        THREADS_ASK(rig, apy_conductor_add_send_destination(conductor, p->endpoint, 2, address));
        for (int64_t until = position + TOTAL / 12; position < until;) {
            position = flow(rig, p);
        }
        THREADS_ASK(rig, apy_conductor_set_receive_control(conductor, second, address));
        THREADS_ASK(rig, apy_conductor_remove_receive_destination(conductor, second));
        THREADS_ASK(rig, apy_conductor_remove_send_destination(conductor, p->endpoint, 2));
        while (rig->destinations_gone == rounds) {
            position = flow(rig, p);
        }
        apy_receive_destination_free(second);
    }
    finish(rig, p, e);
    CHECK_EQ(rig->images_gone, 0);
    static const int seen[] = {APY_TRACE_FRAME_IN, APY_TRACE_FRAME_OUT, APY_TRACE_NAK_SENT, APY_TRACE_NAK_RECEIVED,
                               APY_TRACE_RESEND};
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        CHECK(rig->traced[seen[i]] > 0);
    }
    CHECK_EQ(rig->traced[APY_TRACE_IMAGE_REVOKED], 0);
    CHECK_EQ(apy_conductor_revoke_publication(conductor, p->publication), APY_OK);
    while (rig->traced[APY_TRACE_IMAGE_REVOKED] == 0) {
        threads_turn(rig);
    }
    threads_stop(rig);
    threads_unpublish(p);
    threads_close(rig);
}

static void images_are_rejected_and_come_back_while_a_stream_flows(void)
{
    threads_rig_t *rig = threads_open(200 * THREADS_MS);
    apy_udp_channel_t channel = threads_channel();
    const threads_endpoint_t *e = threads_subscribe(rig, &channel, NULL);
    channel.remote_data = channel.remote_control = e->address;
    threads_publication_t *p = threads_publish(rig, &channel, (apy_network_publication_params_t){.session_id = 7});
    for (int round = 0; round < 4; round++) {
        char reason[64];
        const int length = snprintf(reason, sizeof(reason), "not this time: %d", round);
        const uint64_t taken = e->frames_taken;
        threads_image_t *image;
        while ((image = threads_image_of(rig, e)) == NULL || e->frames_taken < taken + 50) {
            (void)flow(rig, p);
        }
        CHECK_EQ(apy_conductor_reject_image(rig->driver.conductor, image->image, reason, length), APY_OK);
        while (strcmp(rig->error_text, reason) != 0) {
            (void)flow(rig, p);
        }
        for (const int before = rig->images_gone; rig->images_gone == before;) {
            (void)flow(rig, p);
        }
    }
    CHECK(rig->errors >= 4);
    threads_stop(rig);
    threads_unpublish(p);
    threads_close(rig);
}

/* A request stream, whose image tells the session that answers; and the answers, sent to who asked for them. */
static void an_answer_finds_its_asker_while_the_questions_flow(void)
{
    threads_rig_t *rig = threads_open(10000 * THREADS_MS);
    apy_udp_channel_t channel = threads_channel();
    const int32_t session_id = 99;
    const threads_endpoint_t *asked = threads_subscribe(rig, &channel, NULL);
    channel.remote_data = channel.remote_control = asked->address;
    threads_publication_t *questions = threads_publish(
        rig, &channel, (apy_network_publication_params_t){.session_id = 7, .send_response_setup = true});
    apy_udp_channel_t responses = threads_channel();
    responses.control_mode = APY_CONTROL_RESPONSE;
    responses.has_explicit_control = true;
    responses.has_explicit_endpoint = false;
    threads_publication_t *answers =
        threads_publish(rig, &responses, (apy_network_publication_params_t){.session_id = session_id});
    threads_image_t *question;
    while ((question = threads_image_of(rig, asked)) == NULL) {
        (void)flow(rig, questions);
    }
    CHECK_EQ(apy_conductor_set_response(rig->driver.conductor, question->image, &session_id), APY_OK);
    while (rig->response_setups == 0) {
        (void)flow(rig, questions);
    }
    CHECK_EQ(rig->response_session, session_id);

    apy_udp_channel_t listening = threads_channel();
    listening.has_explicit_control = true;
    listening.local_control = *apy_send_endpoint_bound_address(answers->endpoint);
    const threads_endpoint_t *asker = threads_subscribe(rig, &listening, &session_id);
    while (rig->response_connects == 0) {
        (void)flow(rig, questions);
    }
    CHECK_EQ(apy_conductor_set_response(rig->driver.conductor, question->image, NULL), APY_OK);
    while (flow(rig, questions) < TOTAL / 2 || flow(rig, answers) < TOTAL / 2) {
    }
    finish(rig, questions, asked);
    finish(rig, answers, asker);
    threads_stop(rig);
    threads_unpublish(questions);
    threads_unpublish(answers);
    threads_close(rig);
}

int main(void)
{
    RUN(destinations_and_spies_come_and_go_while_a_stream_flows);
    RUN(receive_destinations_come_and_go_while_a_stream_flows);
    RUN(images_are_rejected_and_come_back_while_a_stream_flows);
    RUN(an_answer_finds_its_asker_while_the_questions_flow);
    return 0;
}
