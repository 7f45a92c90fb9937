# Wrappers of the logbuffer room.
