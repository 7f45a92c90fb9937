#ifndef APY_TEST_CHECK_H
#define APY_TEST_CHECK_H

/* check is the smallest thing that makes a C test fail loudly: what, where, with which values. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apy/error.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: not true: %s (last error: %s)\n", __FILE__, __LINE__, __func__, #condition,    \
                    apy_error_text());                                                                                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                                     \
    do {                                                                                                               \
        const int64_t actual_ = (int64_t)(actual), expected_ = (int64_t)(expected);                                    \
        if (actual_ != expected_) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: %s is %" PRId64 ", expected %" PRId64 " (last error: %s)\n", __FILE__,         \
                    __LINE__, __func__, #actual, actual_, expected_, apy_error_text());                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "  %s\n", #test);                                                                              \
        test();                                                                                                        \
    } while (0)

#endif
