"""An embedded driver, a client and one message: pyaeron."""

import sys

import pyaeron

driver = pyaeron.MediaDriver(dir=sys.argv[1])
aeron = pyaeron.Aeron.connect(dir=sys.argv[1])
subscription = aeron.add_subscription("aeron:ipc", 1001)
publication = aeron.add_publication("aeron:ipc", 1001)
while not publication.offer(b"hello"):
    pass
while subscription.poll(lambda buffer, header: print("MESSAGE", flush=True), 1) == 0:
    pass
aeron.close()
driver.close()
