#ifndef APY_ERROR_H
#define APY_ERROR_H

/*
 * error is how C says what went wrong: a negative code, and one sentence kept for the calling thread.
 *
 * Functions return 0 or more on success; on failure they leave their outputs untouched.
 * aeronpy/errors.py holds the one table from codes to exceptions.
 *
 * Threads: any; the sentence is thread-local.  Allocates: never.  Blocks: never.
 */

enum {
    APY_OK = 0,
    APY_E_ARGUMENT = -1,  /* the caller passed a value outside its bounds */
    APY_E_CORRUPT = -2,   /* bytes from disk, memory or network break their format */
    APY_E_STORAGE = -3,   /* not enough space for what was asked */
    APY_E_OS = -4,        /* a system call failed; the text carries its reason */
    APY_E_TIMEOUT = -5,   /* what was waited for did not come in time */
    APY_E_VERSION = -6,   /* a format or protocol version that cannot be served */
    APY_E_STATE = -7,     /* the thing is closed, or not in the state that the call needs */
    APY_E_FULL = -8,      /* a bounded queue, ring or table has no room now */
    APY_E_TOO_LONG = -9,  /* longer than the format or the stream allows */
    APY_E_MEMORY = -10,   /* malloc failed */
    APY_E_ACTIVE = -11,   /* a live owner holds the directory or file */
    APY_E_LAPPED = -12,   /* a reader fell so far behind that data was overwritten */
    APY_E_CHANNEL = -13,  /* a channel that cannot be used as asked */
    APY_E_NOT_FOUND = -14 /* no such thing */
};

#define APY_ERROR_TEXT_MAX 1024

/* Record one sentence for this thread and return code, so that failing is one statement. */
int apy_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As apy_fail with APY_E_OS, with the text of errno appended. */
int apy_fail_os(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The sentence of this thread's last failure; never NULL. */
const char *apy_error_text(void);

#endif
