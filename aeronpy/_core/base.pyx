# Wrappers of the base room.
