#include "apy/conductor_inbox.h"

#include <string.h>

#include "apy/conductor_event.h"
#include "conductor_core.h"

#define INBOX_PER_CYCLE 64

/* What sender and receiver report becomes events for the decision thread. */

static void on_publication_released(apy_conductor_t *conductor, const apy_inbox_released_t *released)
{
    for (int32_t i = 0; i < conductor->publications.count; i++) {
        const apy_core_publication_t *entry = apy_core_at(&conductor->publications, i);
        if (entry->publication == released->resource) {
            apy_core_list_remove(&conductor->publications, i);
            apy_core_tell_resource(conductor, APY_EVENT_PUBLICATION_GONE, released->id);
            return;
        }
    }
}

static void on_image_released(apy_conductor_t *conductor, const apy_inbox_released_t *released)
{
    for (int32_t i = 0; i < conductor->images.count; i++) {
        apy_core_image_t *entry = apy_core_at(&conductor->images, i);
        if (entry->image == released->resource) {
            entry->is_released = true;
        }
    }
}

static void on_setup(apy_conductor_t *conductor, const apy_inbox_setup_t *setup)
{
    apy_event_setup_t event = {
        .endpoint_id = setup->endpoint_id,
        .destination_id = setup->destination_id,
        .session_id = setup->setup.session_id,
        .stream_id = setup->setup.stream_id,
        .initial_term_id = setup->setup.initial_term_id,
        .active_term_id = setup->setup.active_term_id,
        .term_offset = setup->setup.term_offset,
        .term_length = setup->setup.term_length,
        .mtu = setup->setup.mtu,
        .ttl = setup->setup.ttl,
        .flags = setup->setup.flags,
    };
    memcpy(event.source, &setup->source, sizeof event.source);
    memcpy(event.control, &setup->control, sizeof event.control);
    apy_core_tell(conductor, APY_EVENT_SETUP, &event, (int32_t)sizeof event, NULL, 0);
}

static void on_publication_error(apy_conductor_t *conductor, const apy_inbox_publication_error_t *error,
                                 const char *text)
{
    apy_event_publication_error_t event = {
        .registration_id = error->registration_id,
        .receiver_id = error->receiver_id,
        .group_tag = error->group_tag,
        .destination_id = error->destination_id,
        .session_id = error->session_id,
        .stream_id = error->stream_id,
        .error_code = error->error_code,
        .text_length = error->text_length,
    };
    memcpy(event.source, &error->source, sizeof event.source);
    apy_core_tell(conductor, APY_EVENT_PUBLICATION_ERROR, &event, (int32_t)sizeof event, text, error->text_length);
}

static void on_silent(apy_conductor_t *conductor, const apy_inbox_silent_t *silent)
{
    const apy_event_silent_t event = {silent->endpoint_id, silent->destination_id, silent->is_receive, 0};
    apy_core_tell(conductor, APY_EVENT_ADDRESS_SILENT, &event, (int32_t)sizeof event, NULL, 0);
}

static void on_response(apy_conductor_t *conductor, int32_t type, const apy_inbox_response_t *response)
{
    const apy_event_response_t event = {response->registration_id, response->session_id, 0};
    apy_core_tell(conductor, type, &event, (int32_t)sizeof event, NULL, 0);
}

static void on_inbox(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    apy_conductor_t *conductor = context;
    union {
        apy_inbox_setup_t setup;
        apy_inbox_released_t released;
        apy_inbox_publication_error_t error;
        apy_inbox_silent_t silent;
        apy_inbox_response_t response;
    } record; /* records of the ring are aligned to 8 only */
    memcpy(&record, message, (size_t)length < sizeof record ? (size_t)length : sizeof record);

    switch (type) {
    case APY_INBOX_SETUP:
        on_setup(conductor, &record.setup);
        break;
    case APY_INBOX_PUBLICATION_RELEASED:
        on_publication_released(conductor, &record.released);
        break;
    case APY_INBOX_SEND_ENDPOINT_RELEASED:
        apy_core_tell_resource(conductor, APY_EVENT_SEND_ENDPOINT_GONE, record.released.id);
        break;
    case APY_INBOX_RECEIVE_ENDPOINT_RELEASED:
        apy_core_tell_resource(conductor, APY_EVENT_RECEIVE_ENDPOINT_GONE, record.released.id);
        break;
    case APY_INBOX_IMAGE_RELEASED:
        on_image_released(conductor, &record.released);
        break;
    case APY_INBOX_PUBLICATION_ERROR:
        on_publication_error(conductor, &record.error, (const char *)message + sizeof record.error);
        break;
    case APY_INBOX_RECEIVE_DESTINATION_RELEASED:
        apy_core_tell_resource(conductor, APY_EVENT_RECEIVE_DESTINATION_GONE, record.released.id);
        break;
    case APY_INBOX_ADDRESS_SILENT:
        on_silent(conductor, &record.silent);
        break;
    case APY_INBOX_RESPONSE_SETUP:
        on_response(conductor, APY_EVENT_RESPONSE_SETUP, &record.response);
        break;
    case APY_INBOX_RESPONSE_CONNECTED:
        on_response(conductor, APY_EVENT_RESPONSE_CONNECTED, &record.response);
        break;
    default:
        break;
    }
}

int apy_core_read_inbox(apy_conductor_t *conductor)
{
    int work = 0;
    while (work < INBOX_PER_CYCLE && apy_core_has_room(conductor)) {
        if (apy_mpsc_ring_read(conductor->context->conductor_inbox, on_inbox, conductor, 1) == 0) {
            break;
        }
        work++;
    }
    return work;
}
