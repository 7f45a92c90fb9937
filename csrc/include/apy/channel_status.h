#ifndef APY_CHANNEL_STATUS_H
#define APY_CHANNEL_STATUS_H

/*
 * channel_status is what the status counter of a channel endpoint says.
 */

enum { APY_CHANNEL_ERRORED = -1, APY_CHANNEL_INITIALIZING = 0, APY_CHANNEL_ACTIVE = 1, APY_CHANNEL_CLOSING = 2 };

#endif
