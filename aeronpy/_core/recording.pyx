# Wrappers of the recording room.
