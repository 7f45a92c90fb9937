# Wrappers of the control room.
