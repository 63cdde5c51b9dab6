"""What a request header may hold: no client id, and tags that nobody knows (KIP-482)."""

from suites.case import case
from wire.apis import by_name
from wire.messages import request

#: Quick requests whose newest versions are flexible.
ASKED = [
    request("ApiVersions", client_software_name="client", client_software_version="1"),
    request("Metadata", topics=[], allow_auto_topic_creation=False),
    request("FindCoordinator", key="client", coordinator_keys=["client"]),
    request("DescribeGroups", groups=["client"]),
    request("ListGroups"),
    request("OffsetFetch", group_id="client", groups=[{"group_id": "client"}]),
    request("Fetch", replica_id=-1, max_wait_ms=0, session_epoch=-1),
    request("ListOffsets", replica_id=-1),
]


@case("protocol/no-client-id", guarantee="prot-010", fails_on=["M39f"])
def a_client_needs_no_id(wire):
    """A request with an empty client id, or with none at all, MUST be answered like any other.

    In the oldest version that both know and in the newest.
    """
    _all_answered(wire, "without", client_id=None)
    _all_answered(wire, "empty", client_id="")


@case("protocol/unknown-tags", guarantee="prot-011", apis={"ApiVersions": 3}, fails_on=["M39c"])
def tags_that_are_not_known_are_passed_over(wire, topic, rng):
    """Tagged fields that a broker does not know MUST be passed over: in the header, the body and a struct inside it."""
    noise = [(9_998, b""), (9_999, rng.randbytes(300))]
    _all_answered(wire, "header", flexible_only=True, header_tags=noise)
    _all_answered(wire, "body", flexible_only=True, tags={"": noise})

    if wire.versions("Metadata")[-1] < 9:
        return
    named = request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False)
    version = min(wire.versions("Metadata")[-1], 12)
    line = wire.connect("inside")
    line.send_bytes(
        wire.frame(named, version, correlation_id=5, header_tags=noise, tags={"": noise, "topics[0]": noise})
    )
    answer = wire.decoded("Metadata", version, line.receive_bytes(), correlation_id=5)
    found = [(row.name, row.error_code) for row in answer.topics]
    wire.must(found == [(topic, 0)], f"asked for {topic} with unknown tags, the answer names {found}")


def _all_answered(wire, via, *, flexible_only=False, **wrong):
    """Sends each request in its oldest and its newest version, all at once; each must be answered in its turn."""
    line = wire.connect(via)
    sent = []
    for asked in ASKED:
        served = wire.versions(asked._api)
        for version in sorted({*served[:1], *served[-1:]}):
            if flexible_only and not by_name(asked._api).flexible(version):
                continue
            sent.append((asked._api, version))
            line.send_bytes(wire.frame(asked, version, correlation_id=len(sent), **wrong))
    for number, (api, version) in enumerate(sent, 1):
        wire.decoded(api, version, line.receive_bytes(), correlation_id=number)
