#include "apy/receiver.h"

#include <stdlib.h>

#include "apy/cycle_tracker.h"
#include "apy/error.h"
#include "apy/receive_dispatch.h"
#include "receiver_fields.h"

int apy_receiver_create(apy_driver_context_t *context, apy_receiver_t **receiver)
{
    apy_receiver_t *created = aligned_alloc(_Alignof(apy_receiver_t), sizeof(*created));
    if (created == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for the receiver");
    }
    *created = (apy_receiver_t){.context = context, .now_ns = apy_nano_time(&context->clock)};
    int rc = apy_receiver_init_commands(created);
    if (rc == APY_OK) {
        apy_loss_interceptor_t loss;
        apy_loss_interceptor_init(&loss, &context->config.loss);
        rc = apy_transport_poller_init(&created->poller, context->config.receiver_io_vector, &loss);
        if (rc != APY_OK) {
            apy_spsc_queue_free(&created->commands);
        }
    }
    if (rc != APY_OK) {
        free(created);
        return rc;
    }
    *receiver = created;
    return APY_OK;
}

void apy_receiver_free(apy_receiver_t *receiver)
{
    if (receiver != NULL) {
        apy_spsc_queue_free(&receiver->commands);
        apy_transport_poller_free(&receiver->poller);
        free(receiver->images);
        free(receiver->eliciting);
        free(receiver);
    }
}

static void on_datagram(void *context, void *owner, const apy_datagram_t *datagram)
{
    apy_receiver_on_datagram(context, owner, datagram);
}

static int poll_data(apy_receiver_t *receiver)
{
    int64_t bytes = 0;
    const int handled = apy_transport_poller_poll(&receiver->poller, on_datagram, receiver, &bytes);
    if (bytes > 0) {
        apy_count(receiver->context, APY_SC_BYTES_RECEIVED, bytes);
    }
    if (handled < 0) {
        apy_driver_report_error(receiver->context, handled);
        return 0;
    }
    return handled;
}

int apy_receiver_do_work(void *state)
{
    apy_receiver_t *receiver = state;
    const int64_t now_ns = apy_nano_time(&receiver->context->clock);
    apy_cycle_track(receiver->context, &receiver->now_ns, now_ns, receiver->context->config.receiver_threshold_ns,
                    APY_SC_RECEIVER_MAX_CYCLE, APY_SC_RECEIVER_CYCLES_EXCEEDED);

    int work = apy_receiver_drain_commands(receiver);
    work += poll_data(receiver);
    for (int32_t i = 0; i < receiver->image_count; i++) {
        work += apy_image_answer(receiver->images[i], now_ns);
    }
    apy_receiver_check_pending(receiver);
    return work;
}

int apy_receiver_fd(const apy_receiver_t *receiver)
{
    return receiver->poller.epoll_fd;
}
