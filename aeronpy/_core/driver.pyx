# Wrappers of the driver room.
