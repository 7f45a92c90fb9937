"""How streams begin, what they are called, and how they end."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from tests.interop import ends
from tests.interop.house import House, Side, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import free_port

LONG_MAX = (1 << 63) - 1
TERM_BYTES = 64 * 1024
LIVENESS_S = 1.5
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def house_settings() -> dict[str, str]:
    return {"AERON_IMAGE_LIVENESS_TIMEOUT": f"{int(LIVENESS_S * 1000)}ms"}


def channel_of(local: bool, *params: str) -> str:
    return ipc(*params) if local else udp(*params)


MEDIA = pytest.mark.parametrize("local", [False, True], ids=["udp", "ipc"])


def log_files(side: Side, kind: str) -> set[Path]:
    return set((side.driver.aeron_dir / kind).glob("*.logbuffer"))


def allocated(path: Path) -> bool:
    """Whether every block of the file is there."""
    status = path.stat()
    return status.st_blocks * 512 >= status.st_size


@pytest.mark.parametrize("sparse", [True, False])
@every("life.sparse", "storage.sparse", "storage.pre_touched")
def test_logs_are_sparse_or_whole_as_the_channel_says(house: House, cell: Cell, sparse: bool) -> None:
    pair, channel = house.ends(cell), udp(f"sparse={str(sparse).lower()}")
    before = {kind: log_files(pair.source, kind) | log_files(pair.target, kind) for kind in ("publications", "images")}
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.connected(publication)
    ends.image_of(subscription)
    (log,) = log_files(pair.source, "publications") - before["publications"]
    (image,) = log_files(pair.target, "images") - before["images"]

    assert (allocated(log), allocated(image)) == (not sparse, not sparse)
    ends.cross(publication, subscription, ends.payloads(60))


@pytest.mark.parametrize(
    "start",
    [(7, 9, 64), (2**31 - 1, -(2**31), 4096), (-5, -5, 0)],
    ids=["ahead", "wrap", "first"],
)
@MEDIA
@every("life.init_term_id", "life.term_id", "life.term_offset")
def test_a_stream_starts_where_its_channel_says(
    house: House, cell: Cell, local: bool, start: tuple[int, int, int]
) -> None:
    pair, (initial, term, offset) = house.ends(cell, local=local), start
    channel = channel_of(local)
    subscription = pair.target.subscription(channel)
    begins = f"init-term-id={initial}|term-id={term}|term-offset={offset}"
    publication = pair.source.publication(f"{channel}|{begins}", exclusive=True)
    position = ((term - initial) & 0xFFFFFFFF) * TERM_BYTES + offset

    assert publication.look()["position"] == position
    ends.connected(publication)
    image = ends.image_of(subscription)
    assert (image["initial_term_id"], image["join_position"]) == (initial, position)
    got = ends.cross(publication, subscription, [b"one", b"two" * 1000])
    assert got[0].position == position + 64


@MEDIA
@every("life.session_id")
def test_session_ids_are_set_and_filtered(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel, session, other = channel_of(local), 4711 + next(NUMBERS), -4711 - next(NUMBERS)
    wanted = pair.target.subscription(f"{channel}|session-id={session}")
    unwanted = pair.target.subscription(f"{channel}|session-id={other}")
    everything = pair.target.subscription(channel)
    publication = pair.source.publication(f"{channel}|session-id={session}", exclusive=True)
    second = pair.source.publication(f"{channel}|session-id={other}", exclusive=True)

    ends.image_of(wanted, session)
    ends.image_of(everything, session)
    ends.image_of(everything, other)
    assert publication.look()["session_id"] == session
    ends.cross(publication, wanted, [b"for me"])
    ends.cross(second, unwanted, [b"for the other"])
    assert {each.payload for each in everything.receive(2)} == {b"for me", b"for the other"}
    assert wanted.receive(1, timeout_s=0.05) == [] == unwanted.receive(1, timeout_s=0.05)


@every("life.tags", "life.session_tag")
def test_tags_name_a_channel_and_a_session(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp()
    sends, entity, receives = (70_000 + next(NUMBERS) for _ in range(3))
    first = pair.target.subscription(f"{channel}|tags={receives}", 1)
    second = pair.target.subscription(f"aeron:udp?tags={receives}", 2)
    publication = pair.source.publication(f"{channel}|tags={sends},{entity}", 1, exclusive=True)
    # Same socket by the tag, and the same session as the stream that has the entity's tag.
    tagged = f"aeron:udp?tags={sends}|session-id=tag:{entity}"
    follower = pair.source.publication(tagged, 2, exclusive=True)

    assert follower.look()["session_id"] == publication.look()["session_id"]
    assert follower.look()["channel_status_id"] == publication.look()["channel_status_id"]
    ends.cross(publication, first, [b"the first"])
    ends.cross(follower, second, [b"the second"])
    assert first.look()["addresses"] == second.look()["addresses"] != []


@every("life.linger")
def test_a_closed_publication_lingers_as_its_channel_says(house: House, cell: Cell) -> None:
    # A receiver that hears the end of a unicast stream ends its lingering; without eos nobody hears.
    pair, channel = house.ends(cell), udp("linger=1500ms", "eos=false")
    before = log_files(pair.source, "publications")
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, ends.payloads(20))
    (log,) = log_files(pair.source, "publications") - before

    closed = time.monotonic()
    publication.close()
    ends.until(lambda: not log.exists(), "the log's end")
    assert time.monotonic() - closed >= 1.4


@MEDIA
@every("life.eos")
def test_the_end_of_a_stream_is_told(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local)
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    ends.connected(publication)
    image = ends.image_of(subscription)
    assert (image["is_end_of_stream"], image["end_of_stream_position"]) == (False, LONG_MAX)
    end = publication.send(b"the last")[0]
    publication.close()

    ends.until(lambda: ends.image_of(subscription)["end_of_stream_position"] == end, "the end's position")
    assert not ends.image_of(subscription)["is_end_of_stream"]
    assert [each.payload for each in subscription.receive(1)] == [b"the last"]
    session = image["session_id"]
    ends.until(lambda: pair.target.events("image gone", session), "the image's end")
    assert pair.target.events("image gone", session) == [[session, False]]


@every("life.eos")
def test_a_stream_without_eos_ends_by_silence(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell), udp("eos=false", "linger=0s")
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel)
    ends.cross(publication, subscription, [b"only this"])
    session, closed = publication.look()["session_id"], time.monotonic()
    publication.close()

    ends.until(lambda: pair.target.events("image gone", session), "the image's end")
    assert time.monotonic() - closed >= 0.9 * LIVENESS_S


@MEDIA
@every("life.revoke")
def test_a_revoked_publication_ends_its_images_at_once(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local)
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    ends.cross(publication, subscription, [b"read"])
    publication.send(b"never read")
    publication.revoke()

    ends.until(lambda: pair.target.events("image gone", session), "the image's end")
    assert pair.target.events("image gone", session) == [[session, True]]


@every("life.rejoin", "life.reject")
def test_a_rejected_stream_comes_back_where_rejoin_allows(house: House, cell: Cell) -> None:
    pair, port = house.ends(cell), free_port()
    again = pair.target.subscription(udp(port=port), 1)
    never = pair.target.subscription(udp("rejoin=false", port=port), 2)
    first, second = (pair.source.publication(udp(port=port), stream, exclusive=True) for stream in (1, 2))
    ends.cross(first, again, [b"one"])
    ends.cross(second, never, [b"two"])
    back, gone = (each.look()["session_id"] for each in (first, second))
    names = [each.look()["original_registration_id"] for each in (first, second)]
    never.reject(gone, "never again")
    again.reject(back, "try again")

    told = pair.source.events
    ends.until(lambda: all(told("publication error", each) for each in names), "the reasons at the publisher")
    assert [told("publication error", each)[0][2] for each in names] == ["try again", "never again"]
    heard = pair.target.events
    ends.until(lambda: all(heard("image gone", each) for each in (back, gone)), "the images' ends")
    ends.until(lambda: len(heard("image", back)) == 2, "the image that comes back")
    assert len(heard("image", gone)) == 1
    assert never.look()["images"] == []
    ends.cross(first, again, [b"three"])


@MEDIA
@every("life.reject")
def test_a_rejected_image_tells_the_publisher_why(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local)
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, [b"read"])
    look = publication.look()
    subscription.reject(look["session_id"], "not today")

    number = look["original_registration_id"]
    ends.until(lambda: pair.source.events("publication error", number), "the reason at the publisher")
    assert pair.source.events("publication error", number)[0][2] == "not today"
    ends.until(lambda: pair.target.events("image gone", look["session_id"]), "the image's end")


@MEDIA
@every("life.max_position")
def test_a_stream_ends_at_its_last_position(house: House, cell: Cell, local: bool) -> None:
    pair = house.ends(cell, local=local)
    channel = channel_of(local)
    subscription = pair.target.subscription(channel)
    last = f"{channel}|init-term-id=0|term-id={2**31 - 1}|term-offset={TERM_BYTES - 128}"
    publication = pair.source.publication(last, exclusive=True)
    ends.cross(publication, subscription, [b"last but one"])
    limit = publication.look()["max_possible_position"]
    assert limit == TERM_BYTES << 31

    # The message that would end at the limit finds the term full: the rest of it is padding, or it is the last one.
    answers = []
    while not answers or answers[-1] != -5:
        answers.append(publication.offer(b"x"))
        assert len(answers) < 10_000
    accepted = [each for each in answers if each > 0]
    assert all(each <= limit for each in accepted)
    assert [each.position for each in subscription.receive(len(accepted))] == accepted
