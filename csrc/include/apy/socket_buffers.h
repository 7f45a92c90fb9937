#ifndef APY_SOCKET_BUFFERS_H
#define APY_SOCKET_BUFFERS_H

#include <stdbool.h>

/*
 * socket_buffers asks the system what it makes of a length of a UDP socket's buffer.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

/* Of what is sent, or of what is received; wanted 0 asks for the default. 0 and *length, or APY_E_OS. */
int apy_socket_buffer_length(bool is_send, int wanted, int *length);

#endif
