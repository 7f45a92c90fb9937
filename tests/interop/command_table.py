"""Commands that drivers refuse or accept: what to send, by a name for each."""

from __future__ import annotations

UDP = "aeron:udp?endpoint=127.0.0.1:24399"
MDC = "aeron:udp?control=127.0.0.1:24397|control-mode=dynamic"
SUB = "aeron:udp?endpoint=127.0.0.1:24395"
# Not those above: a driver may take its time to let go of what it refused.
OPEN_UDP = "aeron:udp?endpoint=127.0.0.1:24398"
OPEN_MDC = "aeron:udp?control=127.0.0.1:24396|control-mode=dynamic"
OPEN_SUB = "aeron:udp?endpoint=127.0.0.1:24393"
DESTINATION = "aeron:udp?endpoint=127.0.0.1:24390"

PUBLICATIONS = (
    *(
        "aeron:ipc",
        "aeron:ipc|x=1",
        "aeron:ipc?=x",
        "aeron:ipc?x",
        "aeron:tcp?endpoint=a:1",
        "aeron:",
        "udp:x",
        "",
        "x",
    ),
    *(f"aeron:ipc?term-length={length}" for length in ("100", "96k", "2g")),
    *(f"aeron:ipc?mtu={length}" for length in ("32", "33", "65536")),
    *(f"aeron:ipc?pub-wnd={length}" for length in ("1k", "64m")),
    "aeron:ipc?init-term-id=1",
    "aeron:ipc?init-term-id=2|term-id=1|term-offset=0",
    "aeron:ipc?init-term-id=1|term-id=1|term-offset=33",
    "aeron:ipc?init-term-id=1|term-id=1|term-offset=1g",
    *(f"aeron:ipc?session-id={number}" for number in ("abc", "99999999999", "tag:7")),
    *("aeron:ipc?linger=abc", "aeron:ipc?sparse=maybe", "aeron:ipc?eos=maybe", "aeron:ipc?ssc=maybe"),
    *("aeron:ipc?tags=abc", "aeron:ipc?tags=1,2,3"),
    *(f"aeron:ipc?max-resend={count}" for count in ("0", "257", "abc")),
    *("aeron:ipc?response-correlation-id=abc", "aeron:ipc?control-mode=response"),
    *("aeron-spy:aeron:ipc", f"aeron-spy:{UDP}", "aeron:udp"),
    *(f"aeron:udp?endpoint={address}" for address in ("127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", ":1", "[::1:1")),
    *("aeron:udp?endpoint=no-such-host.invalid:24399", "aeron:udp?endpoint=224.20.30.40:24399"),
    *("aeron:udp?control=127.0.0.1:24399", "aeron:udp?control-mode=dynamic", "aeron:udp?control-mode=odd"),
    *("aeron:udp?control-mode=response", "aeron:udp?control-mode=response|control=127.0.0.1:24399"),
    "aeron:udp?control-mode=response|control=127.0.0.1:24399|response-correlation-id=777",
    *(f"{UDP}|{option}" for option in ("control-mode=odd", "response-correlation-id=777", "control=[::1]:24398")),
    *(f"{UDP}|{option}" for option in ("ats=true", "ttl=abc", "ttl=-1", "mtu=65504|so-sndbuf=4k", "so-sndbuf=abc")),
    *(f"{UDP}|interface={interface}" for interface in ("10.99.99.99", "{nosuch}", "300.1.1.1")),
    *(f"{UDP}|channel-snd-ts-offset={offset}" for offset in ("abc", "0|channel-rcv-ts-offset=4")),
    *(f"{MDC}|fc={control}" for control in ("nonsense", "min,x:1", "tagged,g:abc", "min,t:abc")),
    *("aeron:udp?tags=77", f"{UDP}|fc=nonsense"),
    *("aeron:ipc?alias=" + "x" * (4095 - 16), "aeron:ipc?alias=" + "x" * 5000),
)

SUBSCRIPTIONS = (
    *("aeron:ipc", "aeron:ipc|x=1", "aeron:ipc?session-id=abc", "aeron:ipc?tether=maybe", "aeron:ipc?rejoin=maybe"),
    *("aeron:ipc?control-mode=response", "aeron:udp", "aeron:udp?endpoint=127.0.0.1:0"),
    f"{SUB}|control=127.0.0.1:0",
    *(f"{SUB}|{option}=maybe" for option in ("reliable", "rejoin", "group")),
    *(f"{SUB}|{option}=abc" for option in ("rcv-wnd", "session-id", "gtag", "nak-delay")),
    *(f"{SUB}|rcv-wnd=1g", f"{SUB}|session-id=tag:4"),
    *("aeron:udp?endpoint=224.20.30.40:24395", "aeron:udp?endpoint=no-such-host.invalid:24395", "aeron:udp?tags=99"),
    *("aeron:udp?control-mode=dynamic", "aeron:udp?control-mode=manual|tags=5"),
    *("aeron-spy:aeron:ipc", "aeron-spy:aeron:udp", "aeron-spy:udp", f"aeron-spy:{UDP}|control-mode=response"),
    "aeron-spy:aeron:udp?endpoint=no-such-host.invalid:24399",
)

DESTINATIONS = (
    *(DESTINATION, "aeron:udp?endpoint=127.0.0.1:0", "aeron:ipc", f"aeron-spy:{DESTINATION}", "nonsense"),
    *(f"{DESTINATION}|{option}" for option in ("mtu=1408", "rcv-wnd=64k", "so-sndbuf=64k", "control-mode=response")),
    *(f"{DESTINATION}|response-correlation-id=4", "aeron:udp?endpoint=no-such-host.invalid:1"),
    "aeron:udp?control=127.0.0.1:24391",
)

SHARED_IPC = "aeron:ipc?session-id=5|term-length=64k"
SHARED_UDP = "aeron:udp?endpoint=127.0.0.1:24389"
SHARED_SUB = "aeron:udp?endpoint=127.0.0.1:24388"
SHARING_IPC = ("session-id=6", "mtu=2048", "term-length=128k", "pub-wnd=4096", "linger=5", "max-resend=3")
SHARING_UDP = (
    *("session-id=6", "mtu=2048", "term-length=128k", "pub-wnd=4096", "so-sndbuf=64k", "so-rcvbuf=64k"),
    *("channel-snd-ts-offset=0", "max-resend=3", "fc=max", "ttl=3", "tags=8"),
)
SHARING_SUB = (
    *("reliable=false", "rejoin=false", "tether=false", "rcv-wnd=64k", "so-rcvbuf=64k", "group=true", "gtag=5"),
    *("channel-rcv-ts-offset=0", "session-id=5|reliable=false", "nak-delay=1ms"),
)
