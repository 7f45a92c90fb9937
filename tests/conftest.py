"""What all tests share."""

import signal

# A shell that runs its job in the background has Ctrl-C ignored, and children inherit that: tests that press it would
# wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
