"""What ApiVersions returns in each of its fields: exact ranges, features, and the node that was meant (KIP-35, KIP-511,
KIP-584, KIP-1242).
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.protocol._least import SOFTWARE, least
from brokertrial.suites.probe.fitting import fitted
from brokertrial.wire import apis, errors
from brokertrial.wire.messages import request

API_VERSIONS, ANYBODY, WITHIN_S = 18, -1, 20
WITH_FEATURES, WITH_ALL_FEATURES, WITH_ADDRESS = 3, 4, 5
UNKNOWN = (6, 7, 42, 99, 127, 0x7FFF)
NOT_LISTED = ("GetTelemetrySubscriptions",)
"""Served, though not listed, where clients' metrics are not taken (KIP-714)."""


@case(
    "protocol/ranges-end-where-they-say",
    guarantees=["prot-006", "prot-001"],
    detects=["H04", "M39j"],
)
def nothing_is_served_outside_of_its_range(wire):
    """An API MUST NOT be served in the version below the lowest nor in that above the highest that ApiVersions lists,
    and one that is not listed MUST NOT be served at all: it is refused with error 35, or its connection is closed.
    """
    listed = wire.learn()
    asked = []
    for request_ in least(wire.name("nobody")):
        api = apis.by_name(request_._api)
        low, high = listed.get(api.key, (0, -1))
        if api.key == API_VERSIONS or (high < 0 and api.name in NOT_LISTED):
            continue
        if high < 0:
            asked.append((f"{api.name}, which is not listed", _as(wire, request_, api.newest, api.newest)))
            continue
        known = max(min(high, api.max_version), api.min_version)
        asked.append((f"{api.name} v{high + 1}", _as(wire, request_, known, high + 1)))
        if low > 0:
            asked.append((f"{api.name} v{low - 1}", _as(wire, request_, max(low, api.min_version), low - 1)))
    lines = [wire.connect(f"outside{number}") for number in range(len(asked))]
    for line, (_, frame) in zip(lines, asked, strict=True):
        line.send_bytes(frame)
    for line, (what, _) in zip(lines, asked, strict=True):
        with wire.part(what):
            answer = wire.must_refuse(line, because=f"{what} is not offered")
            code = errors.UNSUPPORTED_VERSION.to_bytes(2, "big")
            wire.must(not answer or code in answer[4:], f"{what} is not offered and was answered: {answer.hex()}")
    wire.must_still_serve()


@case(
    "protocol/api-versions-in-each-version",
    guarantees=["prot-001", "prot-002", "prot-021"],
    apis={"ApiVersions": 3},
    detects=["H06", "H07"],
)
def every_version_returns_the_same(wire):
    """Each version of ApiVersions MUST list the same ranges at every node; from v3 on the same finalized features with
    an epoch that does not go back, each level within the supported range, where that is listed (from v4 on every range
    is). An unknown version MUST be answered in v0 with error 35 and the range of ApiVersions itself.
    """
    first = _ask(wire, wire.versions("ApiVersions")[-1], wire.nodes[0])
    ranges = _ranges(first)
    epochs: dict[int, int] = {}
    for node in wire.nodes:
        for version in wire.versions("ApiVersions"):
            listed = _ask(wire, version, node)
            wrong = sorted(set(ranges.items()) ^ set(_ranges(listed).items()))
            listed.must(not wrong, f"v{version} at node {node} differs in (key, range) {wrong}", "api_keys")
            if version >= WITH_FEATURES:
                _must_have_features(wire, listed, first, epochs, node)
    for version in UNKNOWN:
        if version > ranges[API_VERSIONS][1]:
            line = wire.connect(f"v{version}")
            line.send_bytes(wire.frame(request("ApiVersions", **SOFTWARE), 3, api_version=version, correlation_id=7))
            answer = wire.decoded("ApiVersions", 0, line.receive_bytes(), correlation_id=7)
            found = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
            wire.must(answer.error_code == errors.UNSUPPORTED_VERSION, f"v{version} has error {answer.error_code}")
            own = ranges[API_VERSIONS]
            wire.must(found.get(API_VERSIONS) == own, f"v{version} is given the ranges {found}; 18 must have {own}")


@case(
    "protocol/api-versions-over-restarts",
    guarantees=["prot-001", "prot-021"],
    apis={"ApiVersions": 3},
    needs=["terminate", "kill", "restart"],
    detects=["H08"],
)
def a_node_offers_the_same_after_a_restart(wire, nodes, rng):
    """After a stop or a kill a node MUST offer the same ranges and features, the epoch of these MUST NOT be lower."""
    newest = wire.versions("ApiVersions")[-1]
    for stop in (nodes.stop_and_start, nodes.crash):
        node = rng.choice(wire.nodes)
        before = _ask(wire, newest, node)
        stop(node)

        def again(node=node, before=before):
            after = _ask(wire, newest, node)
            same = _ranges(after) == _ranges(before)
            after.must(same, f"the ranges are {_ranges(after)}; they were {_ranges(before)}", "api_keys")
            features = _finalized(after), _finalized(before)
            after.must(features[0] == features[1], f"the features are {features[0]}; they were {features[1]}")
            epochs = after.struct.finalized_features_epoch, before.struct.finalized_features_epoch
            after.must(epochs[0] >= epochs[1], f"the epoch of the features is {epochs[0]}; it was {epochs[1]}")

        wire.eventually(again, within=WITHIN_S)


@case(
    "protocol/who-was-meant",
    guarantees=["prot-022"],
    apis={"ApiVersions": WITH_ADDRESS, "DescribeCluster": 0},
    detects=["H09"],
)
def a_client_that_meant_another_broker_starts_over(wire):
    """ApiVersions v5 that states a cluster and a node MUST be answered by exactly that node, refused with
    REBOOTSTRAP_REQUIRED (129) by any other, and with INVALID_REQUEST (42) where it states only one of the two.
    """
    for node in wire.nodes:
        cluster = wire.describe_cluster(to=node).must_succeed().struct.cluster_id
        others = [each for each in wire.nodes if each != node] or [node + 1_000]
        another, wrong = errors.REBOOTSTRAP_REQUIRED, errors.INVALID_REQUEST
        for name, id_, code in (
            (None, ANYBODY, errors.NONE),
            (cluster, node, errors.NONE),
            (cluster, others[0], another),
            (cluster[::-1] + "x", node, another),
            ("", node, another),
            (cluster[::-1] + "x", others[0], another),
            (cluster, ANYBODY, wrong),
            (None, node, wrong),
        ):
            meant = f"cluster {'right' if name == cluster else name!r}, node {'right' if id_ == node else id_}"
            with wire.part(meant):
                asked = request("ApiVersions", cluster_id=name, node_id=id_, **SOFTWARE)
                answer = wire.ask(asked, version=WITH_ADDRESS, to=node)
                answer.must(answer.error == code, f"{meant}: the error is {answer.error}; it must be {code}")


def _as(wire, request_, known, version):
    """The request as bytes of a version that both know, under the number of another."""
    return wire.frame(fitted(request_, known), known, api_version=version)


def _ask(wire, version, node):
    return wire.ask(request("ApiVersions", **SOFTWARE), version=version, to=node).must_succeed()


def _ranges(answer):
    return {row.api_key: (row.min_version, row.max_version) for row in answer.struct.api_keys}


def _finalized(answer):
    return {row.name: (row.min_version_level, row.max_version_level) for row in answer.struct.finalized_features}


def _supported(answer):
    return {row.name: (row.min_version, row.max_version) for row in answer.struct.supported_features}


def _must_have_features(wire, answer, first, epochs, node):
    finalized, supported = _finalized(answer), _supported(answer)
    for rows, kinds in ((answer.struct.finalized_features, finalized), (answer.struct.supported_features, supported)):
        answer.must(len(rows) == len(kinds), "a feature is reported twice")
    same = finalized == _finalized(first)
    answer.must(same, f"the finalized features are {finalized}, and elsewhere {_finalized(first)}")
    if answer.version >= WITH_ALL_FEATURES:
        missing = sorted(set(finalized) - set(supported))
        answer.must(not missing, f"{missing} are finalized and not supported", "finalized_features")
    for name, (low, high) in finalized.items():
        least_, most = supported.get(name, (low, high))
        fits = least_ <= low <= high <= most and high > 0
        answer.must(fits, f"{name} is finalized at {low} to {high}; supported are {least_} to {most}")
    for name, (low, high) in supported.items():
        answer.must(0 <= low <= high, f"{name} is supported from {low} to {high}", "supported_features")
    epoch = answer.struct.finalized_features_epoch
    answer.must(not finalized or epoch >= 0, f"there are finalized features, of the epoch {epoch}")
    answer.must(epoch >= epochs.get(node, epoch), f"the epoch of the features was {epochs.get(node)}, and is {epoch}")
    epochs[node] = epoch
