#include "apy/driver_context.h"

#include <stdio.h>
#include <string.h>

#include "apy/error.h"

void apy_driver_report_error(apy_driver_context_t *context, int code)
{
    char text[APY_ERROR_TEXT_MAX + 32];
    const int length = snprintf(text, sizeof(text), "(%d) %s", code, apy_error_text());
    /* A full log keeps what it has; the count goes on. */
    (void)apy_error_log_record(context->error_log, text, length);
    apy_count(context, APY_SC_ERRORS, 1);
}
