"""Types of the compiled module; stubtest holds this file to it. One section per room, in the order of native.pyx."""

# --- base ---

# --- logbuffer ---

# --- control ---

# --- client ---

# --- driver ---

# --- archive ---

# --- recording ---
