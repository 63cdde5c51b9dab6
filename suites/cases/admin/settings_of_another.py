"""What a broker says of the settings of another one, which has been started with its own (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.broker_settings import changed
from brokertrial.suites.cases.admin.settings_of_one_of_several import CODEC, LIMIT, STAMPS
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALL, WITHIN_S, NO_SUCH_BROKER = "", 20, "99999"
KEYS = [LIMIT, STAMPS, CODEC]
STARTED = ({LIMIT: "1500000", CODEC: "gzip"}, {LIMIT: "1600000", STAMPS: "LogAppendTime"})
CHANGED = {LIMIT: "1700000"}


@case(
    "admin/settings-of-another-broker",
    guarantees=["adm-008", "adm-010"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "three-nodes", "leaders", "partitions", "chosen-settings", "terminate", "restart"],
    detects=["B273"],
)
def what_is_said_of_another_broker_is_so(wire, nodes, topic, rng):
    """A broker that is asked for the settings of another one MUST refuse that with INVALID_REQUEST (42), or show what
    that broker shows of itself; what brokers were started with they know of themselves alone. In the same request its
    own settings, those of all brokers and of a topic MUST be answered as if they were asked for alone, and a broker
    that there is not MUST be refused (42).

    Two brokers are started with settings of their own, one of them gets another while it runs; each version.
    """
    one, two = rng.sample(wire.nodes, 2)
    for node, settings in zip((one, two), STARTED, strict=True):
        nodes.start_with(settings, only=[node])
    wire.await_topic(topic)
    names = [str(node) for node in wire.nodes]
    try:
        changed(wire, str(two), [(key, SET, value) for key, value in CHANGED.items()]).must_succeed()
        wire.eventually(lambda: _must_have(wire, two, STARTED[1] | CHANGED), within=WITHIN_S)
        _must_have(wire, one, STARTED[0])
        themselves = {name: _shown(wire, int(name), [(BROKER, name)])[1][BROKER, name] for name in names}
        for node in wire.nodes:
            for version in wire.versions("DescribeConfigs"):
                with wire.part(f"v{version} of node {node}"):
                    _must_say(wire, node, version, topic, themselves, rng)
    finally:
        changed(wire, str(two), [(key, DELETE, None) for key in CHANGED]).examined = True


def _must_have(wire, node, wanted):
    answer, found = _shown(wire, node, [(BROKER, str(node))])
    _, rows = found[BROKER, str(node)]
    values = {key: rows[key][0] for key in wanted if key in rows}
    answer.must(values == wanted, f"node {node} shows {values} of itself; it must show {wanted}", "results")


def _must_say(wire, node, version, topic, themselves, rng):
    mine = [(BROKER, str(node)), (BROKER, ALL), (TOPIC, topic)]
    alone = {each: _shown(wire, node, [each], version)[1][each] for each in mine}
    others = [(BROKER, name) for name in [*themselves, NO_SUCH_BROKER] if name != str(node)]
    answer, found = _shown(wire, node, rng.sample([*mine, *others], len(mine) + len(others)), version)
    for each, said in alone.items():
        answer.must(found.get(each) == said, f"of {each} it says {found.get(each)}, and alone {said}", "results")
    for each in others:
        code, rows = found.get(each, (None, {}))
        named = themselves.get(each[1])
        right = code == errors.INVALID_REQUEST or (named is not None and (code, rows) == named)
        answer.must(right, f"of broker {each[1]} node {node} says {code, rows}; it says of itself {named}", "results")


def _shown(wire, node, resources, version=None):
    """Of each resource the error, and its settings with their sources."""
    rows = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": None if kind == TOPIC else KEYS}
        for kind, name in resources
    ]
    answer = wire.ask(request("DescribeConfigs", resources=rows), to=node, version=version)
    answer.examined = True
    return answer, {
        (row.resource_type, row.resource_name): (
            row.error_code,
            {each.name: (each.value, each.config_source) for each in row.configs},
        )
        for row in answer.struct.results
    }
