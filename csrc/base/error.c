#include "apy/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[APY_ERROR_TEXT_MAX];

int apy_fail(int code, const char *format, ...)
{
    /* The arguments may lie in the text that they replace: a sentence is often wrapped in the next one. */
    char next[APY_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(next, sizeof(next), format, arguments);
    va_end(arguments);
    memcpy(text, next, strlen(next) + 1);
    return code;
}

int apy_fail_os(const char *format, ...)
{
    const int number = errno;
    char next[APY_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(next, sizeof(next), format, arguments);
    va_end(arguments);

    char reason[128];
    const char *why = strerror_r(number, reason, sizeof(reason));
    return apy_fail(APY_E_OS, "%s: %s (errno %d)", next, why, number);
}

const char *apy_error_text(void)
{
    return text;
}
