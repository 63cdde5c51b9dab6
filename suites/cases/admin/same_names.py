"""Which settings there are: the same after any change of them, and after a restart (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALL, WITHIN_S = "", 20
KEY, OWN, OTHER = "log.retention.ms", "retention.ms", "num.io.threads"
"""One that topics inherit, and one that they do not."""
STEPS = ("all", "one", "topic", "refused", "all_deleted", "one_deleted", "restart")


@case(
    "admin/same-settings-after-changes",
    guarantees=["adm-008", "adm-010"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "started", "topic-settings", "terminate", "restart"],
    detects=["K36"],
)
def what_is_set_changes_no_list_of_settings(wire, topic_of, nodes, rng):
    """DescribeConfigs of a broker or a topic MUST list the same settings, in every version and at every node, whichever
    of them were set and deleted before, for one broker, for all or for the topic, and after restarts.

    Seven steps in a drawn order.
    """
    topic = topic_of()
    before = _listed(wire, topic)
    steps = {
        "all": lambda: _changed(wire, ALL, (KEY, SET, "700000000"), (OTHER, SET, _as_it_is(wire))),
        "one": lambda: _changed(wire, str(wire.nodes[0]), (KEY, SET, "600000000")),
        "topic": lambda: wire.change_configs(TOPIC, topic, [(OWN, SET, "500000000")]).must_succeed(),
        "refused": lambda: _refused(wire),
        "all_deleted": lambda: _changed(wire, ALL, (KEY, DELETE, None)),
        "one_deleted": lambda: _changed(wire, str(wire.nodes[0]), (KEY, DELETE, None)),
        "restart": lambda: _again(wire, topic, nodes, rng),
    }
    try:
        for step in ("all", *rng.sample(STEPS, len(STEPS))):
            steps[step]()
            wire.eventually(lambda step=step: _must_list(wire, topic, before, step), within=WITHIN_S)
    finally:
        for name in (ALL, str(wire.nodes[0])):
            _changed(wire, name, (KEY, DELETE, None), (OTHER, DELETE, None))


def _as_it_is(wire):
    return wire.setting(OTHER) or "4"


def _changed(wire, name, *rows):
    _asked(wire, name, *rows).must_succeed()


def _refused(wire):
    _asked(wire, ALL, (KEY, SET, "soon")).must_be_refused(errors.INVALID_CONFIG, errors.INVALID_REQUEST)


def _asked(wire, name, *rows):
    return wire.change_configs(BROKER, name, rows, to=wire.nodes[0])


def _again(wire, topic, nodes, rng):
    nodes.stop_and_start(rng.choice(wire.nodes))
    wire.await_topic(topic)


def _listed(wire, topic):
    """By node, kind and version: the names."""
    found = {}
    for node in wire.nodes:
        for kind, name in ((BROKER, str(node)), (TOPIC, topic)):
            for version in wire.versions("DescribeConfigs"):
                row = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
                asked = request("DescribeConfigs", resources=[row])
                answer = wire.ask(asked, to=node, version=version).must_succeed()
                found[node, kind, version] = {each.name for each in answer.at("results[0].configs")}
    return found


def _must_list(wire, topic, before, step):
    for (node, kind, version), names in _listed(wire, topic).items():
        known = before[node, kind, version]
        more, fewer = sorted(names - known), sorted(known - names)
        what = "the topic" if kind == TOPIC else f"broker {node}"
        wire.must(
            not more and not fewer,
            f"after the step `{step}` DescribeConfigs v{version} of {what} lists {more}, which it did not before, "
            f"and lists no more {fewer}",
        )
