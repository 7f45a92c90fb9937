#include "apy/idle.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "apy/atomic.h"
#include "apy/error.h"

enum { NOT_IDLE, SPINNING, YIELDING, PARKING };

#define BACKOFF_DEFAULT "10-20-1us-1ms"

static const struct {
    const char *name;
    apy_idle_kind_t kind;
    int64_t sleep_ns;
} strategies[] = {{"noop", APY_IDLE_NOOP, 1},
                  {"spin", APY_IDLE_SPIN, 1},
                  {"busy-spin", APY_IDLE_SPIN, 1},
                  {"yield", APY_IDLE_YIELD, 1},
                  {"sleeping", APY_IDLE_SLEEP, 1},
                  {"sleep-ns", APY_IDLE_SLEEP, 1},
                  {"sleep-ms", APY_IDLE_SLEEP, 1000000},
                  {"backoff", APY_IDLE_BACKOFF, 1},
                  {"controllable", APY_IDLE_CONTROLLABLE, 1000}};

enum { CONTROL_NOOP = 1, CONTROL_SPIN, CONTROL_YIELD };

static const struct {
    const char *suffix;
    int64_t ns;
} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

/* Digits of text as a number; NULL when there are none or they do not fit, else what follows them. */
static const char *parse_digits(const char *text, int64_t *number)
{
    int64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value)) {
            return NULL;
        }
    }
    *number = value;
    return at == text ? NULL : at;
}

int apy_parse_duration(const char *text, int64_t *duration_ns)
{
    int64_t number = 0;
    const char *suffix = parse_digits(text, &number);
    for (size_t i = 0; suffix != NULL && i < sizeof(units) / sizeof(units[0]); i++) {
        int64_t ns = 0;
        if (strcasecmp(suffix, units[i].suffix) == 0 && !__builtin_mul_overflow(number, units[i].ns, &ns)) {
            *duration_ns = ns;
            return APY_OK;
        }
    }
    return apy_fail(APY_E_ARGUMENT, "\"%s\" is not a duration: digits and ns, us, ms or s, within 292 years", text);
}

static int parse_backoff(apy_idle_t *idle, const char *arguments)
{
    char parts[128];
    if (strlen(arguments) >= sizeof(parts)) {
        return apy_fail(APY_E_ARGUMENT, "backoff takes <spins>-<yields>-<min park>-<max park>, not %zu characters",
                        strlen(arguments));
    }
    strcpy(parts, arguments);

    char *rest = NULL;
    const char *spins = strtok_r(parts, "-", &rest);
    const char *yields = strtok_r(NULL, "-", &rest);
    const char *park_min = strtok_r(NULL, "-", &rest);
    const char *park_max = strtok_r(NULL, "-", &rest);
    if (park_max == NULL || strtok_r(NULL, "-", &rest) != NULL) {
        return apy_fail(APY_E_ARGUMENT, "backoff takes <spins>-<yields>-<min park>-<max park>, not \"%s\"", arguments);
    }

    const char *spins_end = parse_digits(spins, &idle->spins_max);
    const char *yields_end = parse_digits(yields, &idle->yields_max);
    if (spins_end == NULL || *spins_end != '\0' || yields_end == NULL || *yields_end != '\0') {
        return apy_fail(APY_E_ARGUMENT, "spins and yields of backoff \"%s\" are not both numbers", arguments);
    }
    int rc = apy_parse_duration(park_min, &idle->park_min_ns);
    if (rc == APY_OK) {
        rc = apy_parse_duration(park_max, &idle->park_max_ns);
    }
    if (rc == APY_OK && (idle->park_min_ns < 1 || idle->park_max_ns < idle->park_min_ns)) {
        rc = apy_fail(APY_E_ARGUMENT, "backoff \"%s\" needs 1 ns <= min park <= max park", arguments);
    }
    return rc;
}

int apy_idle_init(apy_idle_t *idle, const char *name, const char *arguments)
{
    const char *given = arguments != NULL ? arguments : "";
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        if (strcmp(name, strategies[i].name) != 0) {
            continue;
        }
        apy_idle_t made = {.kind = strategies[i].kind, .park_min_ns = strategies[i].sleep_ns, .park_max_ns = 1};
        int rc = APY_OK;
        if (made.kind == APY_IDLE_BACKOFF) {
            rc = parse_backoff(&made, *given != '\0' ? given : BACKOFF_DEFAULT);
        } else if (made.kind == APY_IDLE_SLEEP && *given != '\0') {
            rc = apy_parse_duration(given, &made.park_min_ns);
        } else if (*given != '\0') {
            rc = apy_fail(APY_E_ARGUMENT, "idle strategy \"%s\" takes no arguments, not \"%s\"", name, given);
        }
        if (rc == APY_OK) {
            made.park_ns = made.park_min_ns;
            *idle = made;
        }
        return rc;
    }
    return apy_fail(APY_E_ARGUMENT,
                    "\"%s\" is no idle strategy: noop, spin, busy-spin, yield, sleeping, sleep-ns, sleep-ms, backoff, "
                    "controllable",
                    name);
}

void apy_idle_reset(apy_idle_t *idle)
{
    idle->spins = 0;
    idle->yields = 0;
    idle->park_ns = idle->park_min_ns;
    idle->state = NOT_IDLE;
}

static void park(const apy_idle_t *idle, int64_t wanted_ns, int64_t max_ns)
{
    const int64_t ns = wanted_ns < max_ns ? wanted_ns : max_ns;
    if (idle->bell != NULL) {
        apy_doorbell_wait(idle->bell, ns);
        return;
    }
    const struct timespec span = {ns / 1000000000, ns % 1000000000};
    nanosleep(&span, NULL);
}

static void back_off(apy_idle_t *idle, int64_t park_max_ns)
{
    switch (idle->state) {
    case NOT_IDLE:
        idle->state = SPINNING;
        idle->spins++;
        break;
    case SPINNING:
        apy_cpu_pause();
        if (++idle->spins > idle->spins_max) {
            idle->state = YIELDING;
            idle->yields = 0;
        }
        break;
    case YIELDING:
        if (++idle->yields > idle->yields_max) {
            idle->state = PARKING;
            idle->park_ns = idle->park_min_ns;
        } else {
            sched_yield();
        }
        break;
    default:
        park(idle, idle->park_ns, park_max_ns);
        idle->park_ns = idle->park_ns > idle->park_max_ns / 2 ? idle->park_max_ns : idle->park_ns * 2;
        break;
    }
}

static void obey(const apy_idle_t *idle, int64_t park_max_ns)
{
    switch (idle->control != NULL ? apy_load_acquire_i64(idle->control) : 0) {
    case CONTROL_NOOP:
        break;
    case CONTROL_SPIN:
        apy_cpu_pause();
        break;
    case CONTROL_YIELD:
        sched_yield();
        break;
    default:
        park(idle, idle->park_min_ns, park_max_ns);
        break;
    }
}

void apy_idle(apy_idle_t *idle, int work)
{
    apy_idle_within(idle, work, INT64_MAX);
}

void apy_idle_within(apy_idle_t *idle, int work, int64_t park_max_ns)
{
    if (work > 0) {
        if (idle->state != NOT_IDLE) {
            apy_idle_reset(idle);
        }
        return;
    }
    switch (idle->kind) {
    case APY_IDLE_NOOP:
        break;
    case APY_IDLE_SPIN:
        apy_cpu_pause();
        break;
    case APY_IDLE_YIELD:
        sched_yield();
        break;
    case APY_IDLE_SLEEP:
        park(idle, idle->park_min_ns, park_max_ns);
        break;
    case APY_IDLE_BACKOFF:
        back_off(idle, park_max_ns);
        break;
    case APY_IDLE_CONTROLLABLE:
        obey(idle, park_max_ns);
        break;
    }
}
