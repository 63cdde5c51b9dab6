"""What a request header may hold: no client id, and unknown tags (KIP-482)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.protocol._least import SOFTWARE
from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import request

#: What may be answered beside success: newer versions say so of a group that does not exist (KIP-1043). Of OffsetFetch
#: it is wrong, with or without a client id: `commits/nothing-committed` decides that.
NO_GROUP = {"DescribeGroups": (errors.GROUP_ID_NOT_FOUND,), "OffsetFetch": (errors.GROUP_ID_NOT_FOUND,)}


@case("protocol/no-client-id", guarantee="prot-010", detects=["M39f", "M39l"])
def a_client_needs_no_id(wire, group):
    """A request with an empty client id, or with none at all, MUST be answered like any other.

    In the oldest version that both know and in the newest: whatever is asked has no reason to be refused.
    """
    with wire.part("none"):
        wire.eventually(lambda: answered_as_ever(wire, group, "without", client_id=None), within=10)
    with wire.part("an empty one"):
        wire.eventually(lambda: answered_as_ever(wire, group, "empty", client_id=""), within=10)


@case("protocol/unknown-tags", guarantee="prot-011", apis={"ApiVersions": 3}, detects=["M39c", "M39m"])
def tags_that_are_not_known_are_passed_over(wire, topic, group, rng):
    """Tagged fields that a broker does not know MUST be passed over: in the header, the body and a struct inside it."""
    noise = [(9_998, b""), (9_999, rng.randbytes(300))]
    with wire.part("in the header"):
        wire.eventually(lambda: answered_as_ever(wire, group, "header", True, header_tags=noise), within=10)
    with wire.part("in the body"):
        wire.eventually(lambda: answered_as_ever(wire, group, "body", True, tags={"": noise}), within=10)

    if wire.versions("Metadata")[-1] < 9:
        return
    named = request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False)
    version = min(wire.versions("Metadata")[-1], 12)
    tags = {"": noise, "topics[0]": noise}
    answer = wire.ask_oddly(named, version, via="inside", header_tags=noise, tags=tags)
    answer.must_have("topics[0].name", topic).must_have("topics[0].error_code", 0)


def quick(group):
    """Requests that are answered at once, and whose newest versions are flexible."""
    return [
        request("ApiVersions", **SOFTWARE),
        request("Metadata", topics=[], allow_auto_topic_creation=False),
        request("FindCoordinator", key=group, coordinator_keys=[group]),
        request("DescribeGroups", groups=[group]),
        request("ListGroups"),
        request("OffsetFetch", group_id=group, groups=[{"group_id": group}]),
        request("Fetch", replica_id=-1, max_wait_ms=500, min_bytes=1, session_epoch=-1),
        request("ListOffsets", replica_id=-1),
    ]


def answered_as_ever(wire, group, via, flexible_only=False, **odd):
    """Sends each in its oldest and its newest version, all at once; each is answered in its turn, with success."""
    node, sent = wire.coordinator(group), []
    for asked in quick(group):
        served = wire.versions(asked._api)
        for version in sorted({*served[:1], *served[-1:]}):
            if by_name(asked._api).flexible(version) or not flexible_only:
                sent.append(wire.ask_oddly(asked, version, via=via, to=node, **odd))
    for answer in sent:
        answer.asked.wait()
    for answer in sent:
        if answer.error not in NO_GROUP.get(answer.asked.request._api, ()):
            answer.must_succeed()
