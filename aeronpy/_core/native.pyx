# One module over one C core: each room of csrc/ has its wrappers in one included file.
from aeronpy._core.c_base cimport *

include "fail.pyx"
include "base.pyx"
include "logbuffer.pyx"
include "control.pyx"
include "client.pyx"
include "client_fragment.pyx"
include "client_claim.pyx"
include "client_publication.pyx"
include "client_batch.pyx"
include "client_image.pyx"
include "driver.pyx"
include "driver_ipc.pyx"
include "driver_network.pyx"
include "archive.pyx"
include "recording.pyx"
