"""Who limits whom: from the positions of a session's stations to a sentence and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from aeronpy.observe.stations import Publisher, Receiver, Sender, Session, Subscriber


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who limits a session, in one of the words connection, loss, subscriber, receivers, sender, publisher, nobody."""

    limited_by: str
    text: str
    remedy: str = ""


def judge(session: Session) -> Verdict:
    """The station that holds the others back, looked for from the stream's end to its start."""
    for find in (_unconnected, _loss, _held_by_subscriber, _held_by_spy, _held_by_receivers, _held_by_sender):
        verdict = find(session)
        if verdict is not None:
            return verdict
    return _in_step(session)


def _name(subscriber: Subscriber) -> str:
    client = subscriber.client.name or f"client {subscriber.client.client_id}"
    return f"subscriber {subscriber.registration_id} ({client})"


def _unconnected(session: Session) -> Verdict | None:
    waiting = [each for each in session.publishers if each.is_connected is False]
    if not waiting or len(waiting) < len(session.publishers):
        return None
    text = f"publication {waiting[0].registration_id} is not connected: nobody who consumes it is heard of"
    if session.senders:
        remedy = (
            "start a subscriber on the same channel and stream; if there is one elsewhere: is it the same endpoint, "
            "does its name resolve to what is bound there, and do firewalls let UDP pass both ways?"
        )
    else:
        remedy = "start a subscriber on aeron:ipc and this stream, at this driver"
    return Verdict("connection", text, remedy)


def _loss(session: Session) -> Verdict | None:
    for receiver in session.receivers:
        missing = sum(length for _, length in receiver.gaps)
        if receiver.hwm > receiver.position and missing > 0:
            at, length = receiver.gaps[0]
            text = (
                f"image {receiver.registration_id} waits for lost data: {len(receiver.gaps)} gaps with {missing} "
                f"bytes, the first of {length} at {at}"
            )
            remedy = (
                "it asks for them again by NAKs; if gaps stay: look at retransmits at the sender, at drops of "
                "the kernel and the network, raise so-rcvbuf, lower rcv-wnd"
            )
            return Verdict("loss", text, remedy)
    return None


def _slowest(session: Session, source_id: int | None = None) -> Subscriber | None:
    subscribers = [each for each in session.subscribers if source_id is None or each.source_id == source_id]
    return max(subscribers, key=lambda each: each.behind, default=None)


def _consume(subscriber: Subscriber) -> str:
    return (
        f"make {_name(subscriber)} poll more often, with more fragments, or do less for each; tether=false lets a "
        "stream go on without it"
    )


def _held_by_subscriber(session: Session) -> Verdict | None:
    for receiver in session.receivers:
        slowest = _slowest(session, receiver.registration_id)
        if slowest is not None and receiver.window and slowest.behind >= receiver.window // 4 * 3:
            text = (
                f"{_name(slowest)} is {slowest.behind} bytes behind, its receiver's window has {receiver.window}: the "
                "sender is told to wait"
            )
            return Verdict("subscriber", text, _consume(slowest))
    for publisher in session.publishers:
        # Of a network publication these are its spies, whose positions count as its sender's does.
        slowest = _slowest(session, publisher.registration_id)
        senders = [each for each in session.senders if each.registration_id == publisher.registration_id]
        unsent = max((_backlog(session, each) for each in senders), default=0)
        if slowest is not None and slowest.behind > unsent and publisher.position >= publisher.limit:
            text = (
                f"{_name(slowest)} is {slowest.behind} bytes behind, and publication {publisher.registration_id} is at "
                f"its limit of {publisher.limit}: offers are pushed back"
            )
            return Verdict("subscriber", text, f"{_consume(slowest)}; longer terms allow longer bursts (term-length)")
    return None


def _held_by_spy(session: Session) -> Verdict | None:
    """Spies that simulate a connection stand in for receivers: where there are none, the stream goes at their pace."""
    if not any("ssc=true" in channel for channel in session.channels):
        return None
    for sender in session.senders:
        spies = [each for each in session.subscribers if each.source_id == sender.registration_id]
        leads = spies and max(each.position for each in spies) <= sender.position
        publisher = next((each for each in session.publishers if each.registration_id == sender.registration_id), None)
        slowest = _slowest(session, sender.registration_id)
        if publisher is None or slowest is None or not leads or sender.limit > sender.position:
            continue
        if slowest.behind > 0 and publisher.position >= publisher.limit:
            text = (
                f"{_name(slowest)} is a spy {slowest.behind} bytes behind, and with ssc=true and no receiver a stream "
                f"goes at its pace: publication {publisher.registration_id} is at its limit of {publisher.limit}"
            )
            return Verdict("subscriber", text, _consume(slowest))
    return None


def _backlog(session: Session, sender: Sender) -> int:
    publisher = next((each for each in session.publishers if each.registration_id == sender.registration_id), None)
    return 0 if publisher is None else publisher.position - sender.position


def _held_by_receivers(session: Session) -> Verdict | None:
    for sender in session.senders:
        backlog = _backlog(session, sender)
        if backlog <= max(sender.limit - sender.position, 0):
            continue
        slowest = _slowest(session)
        here = f"; here {_name(slowest)} is {slowest.behind} bytes behind" if slowest and slowest.behind > 0 else ""
        text = (
            f"sender {sender.registration_id} has {backlog} bytes to send and may not: its receivers allow "
            f"{max(sender.limit - sender.position, 0)}{here}"
        )
        remedy = (
            "run aeronpy explain where the receivers are: a subscriber there is slow, or gone; or the window is too "
            "small for the way (raise rcv-wnd and so-rcvbuf); with several receivers the slowest counts (fc=)"
        )
        return Verdict("receivers", text, remedy)
    return None


def _held_by_sender(session: Session) -> Verdict | None:
    for sender in session.senders:
        publisher = next((each for each in session.publishers if each.registration_id == sender.registration_id), None)
        if publisher is None or publisher.position <= sender.position or publisher.position < publisher.limit:
            continue
        backlog, allowed = publisher.position - sender.position, sender.limit - sender.position
        text = (
            f"publication {publisher.registration_id} is at its limit and its sender {backlog} bytes behind it, with "
            f"{allowed} allowed by the receivers: the sender is too slow"
        )
        remedy = (
            "give the sender a core and a busier idle strategy (aeron.sender.idle.strategy), raise mtu and so-sndbuf"
        )
        return Verdict("sender", text, remedy)
    return None


def _in_step(session: Session) -> Verdict:
    slowest = _slowest(session)
    stations: list[Publisher | Sender | Receiver | Subscriber] = []
    for kind in (session.publishers, session.senders, session.receivers, session.subscribers):
        stations += kind
    rates = [each.rate for each in stations]
    if not rates:
        return Verdict("nobody", "it has no station here")
    moving = any(rate is not None and rate > 0 for rate in rates)
    behind = f"; {_name(slowest)} is {slowest.behind} bytes behind" if slowest and slowest.behind > 0 else ""
    if not session.publishers and session.receivers:
        return Verdict("publisher", f"{'it flows' if moving else 'nothing comes'}: its publisher is elsewhere{behind}")
    if moving:
        return Verdict("publisher", f"it flows, and no station holds it back{behind}")
    remedy = "poll the subscription" if behind else ""
    return Verdict("publisher", f"no station holds it back, and nothing is published{behind}", remedy)


def behind(position: int, source: Publisher | Receiver | None) -> int:
    """How many bytes a subscriber is behind what is there for it."""
    return 0 if source is None else max(source.position - position, 0)
