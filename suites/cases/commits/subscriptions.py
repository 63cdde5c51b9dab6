"""Which topics a classic group reads, by what its members bring to JoinGroup (ConsumerProtocolSubscription)."""

import struct

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

VERSIONS = (0, 1, 2, 3, 7)
"""From 1 on with the partitions that a member has, from 2 on with its generation, from 3 on with its rack; a version
that is newer than Kafka's begins like its newest (ConsumerProtocol.checkSubscriptionVersion)."""
OWNED, GENERATION, RACK, NEWER = 1, 2, 3, 4
TOPICS, LONG_MS = 5, 60_000


@case(
    "commits/deleted-beside-any-subscription",
    guarantees=["cmt-014"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "OffsetDelete": 0, "JoinGroup": 0, "SyncGroup": 0},
    detects=["D97"],
)
def topics_are_in_use_by_subscriptions_of_any_version(wire, topic_of, rng):
    """OffsetDelete MUST refuse the topics to which members of a classic group subscribe (86), and MUST delete the
    offsets of the others, in whatever version the members state their subscription.

    A group with one member for each version of ConsumerProtocolSubscription, and groups of three with drawn versions.
    """
    topics = [topic_of(what=f"t{number}") for number in range(TOPICS)]
    for versions in [(one,) for one in VERSIONS] + [tuple(rng.choices(VERSIONS, k=3)) for _ in range(2)]:
        with wire.part(f"subscriptions of version {', '.join(map(str, versions))}"):
            _one_group(wire, rng, topics, versions)


def _one_group(wire, rng, topics, versions):
    group, read = wire.name("g"), set()
    wire.commit_all(group, {(topic, 0): place for place, topic in enumerate(topics)}).must_succeed()
    members = []
    for number, version in enumerate(versions):
        chosen = rng.sample(topics, rng.randint(1, 2))
        read |= set(chosen)
        protocols = [("range", subscription(version, chosen, rng))]
        times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        members.append(wire.member(group, f"{group} {number}", protocols=protocols, **times))
    rebalance(*members)
    answer = wire.delete_offsets(group, [(topic, 0) for topic in rng.sample(topics, TOPICS)])
    codes = {row.name: [part.error_code for part in row.partitions] for row in answer.struct.topics}
    wanted = {topic: [errors.GROUP_SUBSCRIBED_TO_TOPIC if topic in read else errors.NONE] for topic in topics}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics")
    for place, topic in enumerate(topics):
        wire.committed(group, topic).must_be(place if topic in read else -1)


def subscription(version, topics, rng):
    """The bytes of a ConsumerProtocolSubscription, with user data."""
    owned = rng.sample(topics, rng.randint(0, len(topics)))
    made = struct.pack(">hi", version, len(topics)) + b"".join(map(_text, topics)) + _bytes(rng.randbytes(5))
    if version >= OWNED:
        made += struct.pack(">i", len(owned)) + b"".join(_text(topic) + struct.pack(">ii", 1, 0) for topic in owned)
    if version >= GENERATION:
        made += struct.pack(">i", rng.choice((-1, 3)))
    if version >= RACK:
        made += rng.choice((_text("a rack"), struct.pack(">h", -1)))
    return made + (rng.randbytes(4) if version >= NEWER else b"")


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


def _bytes(data):
    return struct.pack(">i", len(data)) + data
