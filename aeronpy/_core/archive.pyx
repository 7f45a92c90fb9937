# Wrappers of the archive room.
