"""What is advertised is served in that version, and what is not is refused (KIP-35)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.protocol._least import FEATURES, SOFTWARE, least
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import Struct, request

#: No answer to a valid request of a version that is served: it is not known why, not this version, not such a request.
NOT_SERVED = (errors.UNKNOWN_SERVER_ERROR, errors.UNSUPPORTED_VERSION, errors.INVALID_REQUEST)


@case("protocol/advertised-is-served", guarantees=["prot-005", "prot-012"], detects=["M39g", "M39h", "M39k"])
def each_advertised_version_is_answered_in_its_own_layout(wire):
    """Each API MUST be served in each version that ApiVersions lists, in exactly that version's layout and tags.

    Minimal valid requests: an error may say that there is no such group, but not that the version is unsupported (35),
    that the request is invalid (42) or that the error is unknown (-1). Left out: versions that the suite does not know,
    and Produce below v3, which Kafka 4 lists on purpose without serving it (KAFKA-18659). What belongs to a feature
    that the cluster has not finalized may be answered with 35 (KIP-848).
    """
    listed = wire.learn()
    asked = []
    for request_ in least(wire.name("nobody")):
        api = by_name(request_._api)
        low, high = listed.get(api.key, (0, -1))
        for version in range(max(low, api.min_version), min(high, api.max_version) + 1):
            asked.append(wire.ask(request_, version=version, via=api.name, wait=False))
    for answer in asked:
        with wire.part(f"{answer.asked.request._api} v{answer.version}"):
            early = _tags_of_later_versions(answer.struct, answer.version)
            answer.must(not early, f"it carries {', '.join(early)}, which this version does not have")
            feature = FEATURES.get(answer.asked.request._api)
            if answer.error == errors.UNSUPPORTED_VERSION and feature and wire.features.get(feature, 0) < 1:
                continue
            code = f"{errors.name(answer.error)} ({answer.error})"
            answer.must(answer.error not in NOT_SERVED, f"{code} to a valid request of a version that is listed")


@case(
    "protocol/not-advertised-is-refused",
    guarantee="prot-006",
    apis={"JoinGroup": 0, "OffsetCommit": 2, "Produce": 3},
    detects=["M39j"],
)
def what_is_not_advertised_is_refused(wire, group):
    """A request of an API or version that is not advertised MUST be refused, by error 35 or by closing its connection.

    Other connections are served on meanwhile.
    """
    wire.must_still_serve("busy")
    asked = [
        wire.frame(request("ApiVersions", **SOFTWARE), 3, api_key=9999),
        wire.frame(request("Produce", acks=-1, timeout_ms=1_000), 9, api_version=99),
        wire.frame(request("JoinGroup", group_id=group), 5, api_version=-1),
        *(_one_too_high(wire, name, group) for name in ("JoinGroup", "OffsetCommit")),
    ]
    lines = [wire.connect(f"refused{number}") for number in range(len(asked))]
    for line, frame in zip(lines, asked, strict=True):
        line.send_bytes(frame)
    wire.must_still_serve("busy")
    for line, frame in zip(lines, asked, strict=True):
        what = f"API key {int.from_bytes(frame[4:6], 'big')} v{int.from_bytes(frame[6:8], 'big', signed=True)}"
        with wire.part(what):
            answer = wire.must_refuse(line, because=f"{what} is not advertised")
            wire.must(
                not answer or errors.UNSUPPORTED_VERSION.to_bytes(2, "big") in answer[4:],
                f"{what} is not advertised and was answered, not with error 35: {answer.hex()}",
            )


@case(
    "protocol/errors-keep-the-layout",
    guarantee="prot-012",
    apis={"Fetch": 4, "Produce": 3, "ListOffsets": 1},
    detects=["M39g"],
)
def a_refusal_keeps_the_layout_of_its_version(wire, topic):
    """An answer that refuses MUST keep to the layout of its version: no field and no tag that this version lacks.

    A partition that does not exist, in every version of three APIs; topics may have no ids to ask by.
    """
    how = {"to": wire.leader(topic), "wait": False}
    asked = [wire.fetch(topic, 99, version=each, via="f", **how) for each in wire.versions("Fetch")]
    asked += [wire.produce(topic, batch("a"), 99, version=each, via="p", **how) for each in wire.versions("Produce")]
    asked += [wire.list_offsets(topic, 99, version=each, via="l", **how) for each in wire.versions("ListOffsets")]
    for answer in asked:
        with wire.part(f"{answer.asked.request._api} v{answer.version}"):
            early = _tags_of_later_versions(answer.struct, answer.version)
            answer.must(not early, f"it carries {', '.join(early)}, which this version does not have")
            answer.must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID)


def _one_too_high(wire, api, group):
    """A request that is well formed but for its version, which is one above what is advertised."""
    newest = wire.versions(api)[-1]
    return wire.frame(request(api, group_id=group), newest, api_version=wire.learn()[by_name(api).key][1] + 1)


def _tags_of_later_versions(struct, version):
    """Tags that the schema knows, though not for this version; one that it does not know may be newer than we."""
    known = {field.tag: field for field in struct._fields if field.tag is not None}
    found = [known[tag].name for tag, _ in struct._unknown_tags if tag in known and version not in known[tag].versions]
    for field in struct._fields:
        value = getattr(struct, field.name)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Struct):
                found += _tags_of_later_versions(inner, version)
    return found
