"""Settings of single brokers of a cluster: which of them each broker goes by (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.broker_settings import changed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALL, WITHIN_S, TURNS = "", 20, 8
LARGE = "x" * 5_000
LIMIT, STAMPS, CODEC = "message.max.bytes", "log.message.timestamp.type", "compression.type"
VALUES = {LIMIT: ("2000", "3000000"), STAMPS: ("LogAppendTime", "CreateTime"), CODEC: ("gzip", "uncompressed", "lz4")}
CODECS = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4, "producer": 0}


@case(
    "admin/settings-of-one-broker-of-several",
    guarantees=["adm-010", "adm-008", "adm-009"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0, "CreateTopics": 5},
    needs=["settings", "started", "three-nodes", "leaders", "partitions", "topic-settings"],
    detects=["B91"],
)
def each_broker_goes_by_its_own(wire, rng):
    """What is set for one broker while it runs MUST be in force there and nowhere else: every other broker MUST go on
    with what it has of its own, or with what is set for all, and DescribeConfigs MUST show of each broker what it goes
    by. A value that is deleted MUST leave those of the others alone.

    A partition on each of three nodes: limits, times and codecs show in what is written to it. Eight drawn changes.
    """
    topic = wire.name("t")
    on = {index: [node] for index, node in enumerate(rng.sample(wire.nodes, 3))}
    wire.create_topic(topic, partitions=-1, assignments=on, configs={"min.insync.replicas": "1"}).must_succeed()
    wire.await_topic(topic)
    before = {node: _shown(wire, node)[1] for node in wire.nodes}
    own: dict[str, dict[str, str]] = {name: {} for name in (ALL, *map(str, wire.nodes))}
    try:
        for _ in range(TURNS):
            name = rng.choice([*map(str, wire.nodes)] * 2 + [ALL])
            rows = []
            for key in rng.sample(sorted(VALUES), rng.randint(1, 3)):
                value = rng.choice((*VALUES[key], None) if key in own[name] else VALUES[key])
                rows.append((key, DELETE if value is None else SET, value))
                own[name].pop(key, None)
                own[name].update({} if value is None else {key: value})
            changed(wire, name, rows).must_succeed()
            for index, (node,) in rng.sample(sorted(on.items()), 3):
                wanted = {**before[node], **own[ALL], **own[str(node)]}
                with wire.part(f"node {node}"):
                    wire.eventually(lambda how=(index, node, wanted): _must_go_by(wire, topic, *how), within=WITHIN_S)
    finally:
        for name in own:
            changed(wire, name, [(key, DELETE, None) for key in VALUES]).examined = True


def _must_go_by(wire, topic, index, node, wanted):
    answer, found = _shown(wire, node)
    answer.must(found == wanted, f"node {node} shows {found}; it must show {wanted}", "results")
    large = wire.produce(topic, batch(LARGE), index)
    if int(wanted[LIMIT]) < len(LARGE):
        large.must_be_refused(errors.MESSAGE_TOO_LARGE)
    else:
        large.must_succeed()
    small = wire.produce(topic, batch("a"), index).must_succeed()
    stamped = small.log_append_time >= 0
    right = wanted[STAMPS] == "LogAppendTime"
    small.must(stamped == right, f"node {node} gives {'its' if stamped else 'no'} time; it has {wanted[STAMPS]}")
    read = wire.fetch(topic, index, offset=small.offset)
    codec = read.batches[0].header.attributes & 7
    read.must(codec == CODECS[wanted[CODEC]], f"node {node} keeps codec {codec}; it has {wanted[CODEC]}", "responses")


def _shown(wire, node):
    resource = {"resource_type": BROKER, "resource_name": str(node), "configuration_keys": list(VALUES)}
    answer = wire.ask(request("DescribeConfigs", resources=[resource]), to=node).must_succeed()
    return answer, {row.name: row.value for row in answer.struct.results[0].configs}
