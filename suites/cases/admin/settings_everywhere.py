"""Settings of a topic whose partitions lie on different nodes: they are in force on each of them."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors

LARGE, LIMIT, STAMPS = "x" * 5_000, "max.message.bytes", "message.timestamp.type"
WITHIN_S = 30


@case(
    "admin/settings-of-scattered-partitions",
    guarantee="adm-010",
    apis={"IncrementalAlterConfigs": 0, "CreatePartitions": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    detects=["D84"],
)
def each_partition_has_them(wire, rng):
    """A setting of a topic MUST come into force in each of its partitions, whichever nodes hold them: a limit on its
    batches, set and deleted, the broker's times, and both in partitions that are added.

    Six partitions in a drawn order on one node each, so that each node holds some and misses others; three more later.
    """
    topic = wire.name("t")
    order = rng.sample([*wire.nodes, *wire.nodes], 6)
    on = {index: [node] for index, node in enumerate(order)}
    wire.create_topic(topic, partitions=-1, assignments=on, configs={"min.insync.replicas": "1"}).must_succeed()
    wire.await_topic(topic)
    for index in on:
        wire.produce(topic, batch(LARGE), index).must_succeed()
    changes = {LIMIT: "2000", STAMPS: "LogAppendTime"}
    wire.change_configs(TOPIC, topic, [(name, SET, value) for name, value in changes.items()]).must_succeed()
    _must_be_in_force(wire, topic, on, limited=True, stamped=True)
    added = rng.sample(wire.nodes, 3)
    wire.create_partitions(topic, 9, assignments=[[node] for node in added]).must_succeed()
    wire.await_topic(topic)
    on |= {6 + index: [node] for index, node in enumerate(added)}
    _must_be_in_force(wire, topic, on, limited=True, stamped=True)
    wire.change_configs(TOPIC, topic, [(LIMIT, DELETE, None), (STAMPS, SET, "CreateTime")]).must_succeed()
    _must_be_in_force(wire, topic, on, limited=False, stamped=False)


def _must_be_in_force(wire, topic, partitions, *, limited, stamped):
    for index, (node,) in partitions.items():
        with wire.part(f"partition {index} on node {node}"):
            wire.eventually(lambda at=index: _must_be(wire, topic, at, limited, stamped), within=WITHIN_S)


def _must_be(wire, topic, index, limited, stamped):
    large = wire.produce(topic, batch(LARGE), index)
    if limited:
        large.must_be_refused(errors.MESSAGE_TOO_LARGE)
    else:
        large.must_succeed()
    small = wire.produce(topic, batch("a"), index).must_succeed()
    found = small.log_append_time >= 0
    small.must(found == stamped, f"it is {'' if found else 'not '}given the broker's time")
