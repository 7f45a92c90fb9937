"""What each hot loop may cost: instructions a message of 32 bytes, or a datagram of 22 of them, loop and handler in it.

Measured with gcc 12 at -O2, which is what the gate asks for; other compilers are reported only. SLACK is for what a
libc or a flag of the processor changes, not for a slowdown: lower a limit with the change that lowers its figure.
"""

SLACK = 1.02
COMPILER = "gcc 12"

LIMITS: dict[str, int] = {
    "offer": 89,
    "try_claim": 82,
    "batch offer": 33,
    "batch poll": 34,
    "shared offer": 109,
    "shared try_claim": 110,
    "shared batch offer": 37,
    "term scan": 378,
    "insert": 639,
    "gap scan": 216,
    "offer through the table": 102,
    "poll of 10 through the table": 54,
    "offer + poll through the table": 266,
}

# Offer and poll of one message, ours against the real C client's.
PAIR_RATIO_MAX = 1.0
