"""What has settings, by its kind: what is listed, and what is refused because there is no such thing (KIP-1142)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LOGGER, CLIENT_METRICS, GROUP, NO_KIND, WITHIN_S = 8, 16, 32, 99, 10
SETTING = "consumer.heartbeat.interval.ms"


@case(
    "admin/resources-by-kind",
    guarantees=["adm-008", "adm-009"],
    apis={"ListConfigResources": 1, "DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    features={"group.version": 1},
    detects=["T12", edit_answer("config_resources[resource_type=2]", drop=True, api="ListConfigResources")],
)
def resources_are_listed_by_their_kinds(wire, topic_of, group):
    """ListConfigResources MUST list what there is of each kind that it is asked for, all where none is named: every
    topic, every broker, each group that has settings of its own and as long as it has some; of a kind that there is
    not it is refused (35). Settings of a broker, topic or group that cannot be MUST be refused (42), and described
    neither.

    Whichever node is asked, the brokers are those of the whole cluster.
    """
    topics = {topic_of(), topic_of(what="other")}
    stranger = str(max(wire.nodes) + 1_000)
    brokers = {str(node) for node in wire.nodes}
    wire.eventually(lambda: _must_list(wire, [], {TOPIC: topics, BROKER: brokers, LOGGER: brokers}), within=WITHIN_S)
    wire.eventually(lambda: _must_list(wire, [TOPIC], {TOPIC: topics}), within=WITHIN_S)
    _must_list(wire, [BROKER, LOGGER], {BROKER: brokers, LOGGER: brokers})
    asked = request("ListConfigResources", resource_types=[TOPIC, NO_KIND])
    wire.ask(asked, version=1).must_be_refused(errors.UNSUPPORTED_VERSION)
    old = wire.ask(request("ListConfigResources"), version=0).must_succeed()
    named = {row.resource_name for row in old.struct.config_resources}
    old.must(not named & {*topics, *brokers}, f"v0, of client metrics alone, lists {sorted(named)}", "config_resources")

    wire.change_configs(GROUP, group, [(SETTING, SET, "5000")]).must_succeed()
    wire.eventually(lambda: _must_list(wire, [GROUP], {GROUP: {group}}), within=WITHIN_S)
    wire.eventually(lambda: _must_list(wire, [], {TOPIC: topics, GROUP: {group}}), within=WITHIN_S)
    wire.change_configs(GROUP, group, [(SETTING, DELETE, None)]).must_succeed()
    wire.eventually(lambda: _must_list(wire, [GROUP], {GROUP: set()}, none=group), within=WITHIN_S)

    for kind, name, key in ((BROKER, stranger, "message.max.bytes"), (TOPIC, "", "retention.ms"), (GROUP, "", SETTING)):
        with wire.part(f"kind {kind} by the name {name!r}"):
            wire.change_configs(kind, name, [(key, SET, "5000000")]).must_be_refused(errors.INVALID_REQUEST)
    row = {"resource_type": BROKER, "resource_name": stranger, "configuration_keys": None}
    wire.ask(request("DescribeConfigs", resources=[row]), to=wire.nodes[0]).must_be_refused(errors.INVALID_REQUEST)


def _must_list(wire, kinds, wanted, none=None):
    """All of these, each once, and no other kind than those that are asked for."""
    answer = wire.ask(request("ListConfigResources", resource_types=kinds), version=1).must_succeed()
    rows = [(row.resource_type, row.resource_name) for row in answer.struct.config_resources]
    answer.must(len(set(rows)) == len(rows), "one of them is listed twice", "config_resources")
    strange = sorted({kind for kind, _ in rows} - set(kinds or (TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP)))
    answer.must(not strange, f"it lists the kinds {strange}, which were not asked for", "config_resources")
    for kind, names in wanted.items():
        missing = sorted(names - {name for each, name in rows if each == kind})
        answer.must(not missing, f"of kind {kind} it does not list {missing}", "config_resources")
        if kind in (BROKER, LOGGER):
            found = sorted(name for each, name in rows if each == kind)
            answer.must(set(found) == names, f"of kind {kind} it lists {found}; there are {sorted(names)}")
    answer.must(all(name != none for _, name in rows), f"it lists {none}, which has no settings any more")
