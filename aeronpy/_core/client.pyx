# Wrappers of the client room.
