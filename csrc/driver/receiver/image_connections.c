#include <stdlib.h>
#include <string.h>

#include "apy/error.h"
#include "image_fields.h"

#define CONNECTION_TIMEOUT_NS INT64_C(5000000000)

int apy_image_reserve_connections(apy_image_t *image, int32_t slot_count)
{
    apy_image_connection_t *first = &image->receiver.first;
    if (slot_count <= image->receiver.connection_count) {
        return APY_OK;
    }
    apy_image_connection_t *before = image->receiver.connections == first ? NULL : image->receiver.connections;
    apy_image_connection_t *grown = realloc(before, (size_t)slot_count * sizeof(*grown));
    if (grown == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for an image from %d destinations", slot_count);
    }
    if (before == NULL) {
        grown[0] = *first;
    }
    const int32_t known = image->receiver.connection_count;
    memset(grown + known, 0, (size_t)(slot_count - known) * sizeof(*grown));
    image->receiver.connections = grown;
    image->receiver.connection_count = slot_count;
    return APY_OK;
}

void apy_image_connect(apy_image_t *image, apy_receive_destination_t *destination,
                       const struct sockaddr_storage *source, int64_t now_ns)
{
    apy_image_connection_t *connection = &image->receiver.connections[destination->index];
    const struct sockaddr_storage *control = apy_receive_destination_control(destination, source);
    if (connection->destination == NULL) {
        connection->destination = destination;
        connection->is_end_of_stream = false;
        connection->time_of_last_activity_ns = now_ns;
        connection->time_of_last_frame_ns = now_ns - image->context->config.image_liveness_timeout_ns;
        connection->control.ss_family = 0;
    }
    if (control != NULL) {
        connection->control = *control;
    }
}

void apy_image_disconnect(apy_image_t *image, const apy_receive_destination_t *destination)
{
    if (destination->index < image->receiver.connection_count) {
        memset(&image->receiver.connections[destination->index], 0, sizeof(apy_image_connection_t));
    }
}

bool apy_image_connection_is_alive(const apy_image_connection_t *connection, int64_t now_ns)
{
    return connection->destination != NULL && connection->control.ss_family != 0 &&
           now_ns < connection->time_of_last_activity_ns + CONNECTION_TIMEOUT_NS;
}

void apy_image_redirect(apy_image_t *image, const apy_receive_destination_t *destination)
{
    if (destination->index < image->receiver.connection_count &&
        image->receiver.connections[destination->index].destination == destination) {
        image->receiver.connections[destination->index].control = destination->control;
    }
}
