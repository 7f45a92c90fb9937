#include <string.h>

#include "gossip_fields.h"

/* What was heard of names: a newer word replaces an older one, silence removes it. */

static apy_cached_name_t *find(const apy_gossip_t *gossip, int type, const char *name, int32_t length)
{
    for (int32_t i = 0; i < gossip->name_count; i++) {
        apy_cached_name_t *one = &gossip->names[i];
        if (one->type == type && one->name_length == length && memcmp(one->name, name, (size_t)length) == 0) {
            return one;
        }
    }
    return NULL;
}

const apy_cached_name_t *apy_gossip_cached(const apy_gossip_t *gossip, int type, const char *name, int32_t length)
{
    return find(gossip, type, name, length);
}

void apy_gossip_remember(apy_gossip_t *gossip, const apy_resolution_t *entry, int64_t activity_ms)
{
    apy_cached_name_t *name = find(gossip, entry->type, entry->name, entry->name_length);
    if (name == NULL) {
        if (gossip->name_count == APY_GOSSIP_NAMES_MAX) {
            return; /* whoever floods us loses first: known names stay until they are silent */
        }
        name = &gossip->names[gossip->name_count++];
        name->type = entry->type;
        name->name_length = entry->name_length;
        memcpy(name->name, entry->name, (size_t)entry->name_length);
    }
    memcpy(name->address, entry->address, sizeof(name->address));
    name->port = entry->port;
    name->activity_ms = activity_ms;
}

void apy_gossip_forget_names(apy_gossip_t *gossip, int64_t now_ms)
{
    for (int32_t i = gossip->name_count - 1; i >= 0; i--) {
        if (gossip->names[i].activity_ms + gossip->params.neighbor_timeout_ms <= now_ms) {
            gossip->names[i] = gossip->names[--gossip->name_count];
        }
    }
}
