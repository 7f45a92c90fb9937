"""An embedded driver, a client and one message: ours."""

import sys

from aeronpy import Aeron, MediaDriver

with (
    MediaDriver.launch_embedded(aeron_dir=sys.argv[1]) as driver,
    Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    aeron.add_subscription("aeron:ipc", 1001) as subscription,
    aeron.add_publication("aeron:ipc", 1001) as publication,
):
    publication.send(b"hello")
    while subscription.poll(lambda buffer, header: print("MESSAGE", flush=True), 1) == 0:
        pass
