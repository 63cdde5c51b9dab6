"""Requests about several things at once: each is answered as in a request about it alone."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request


@case(
    "protocol/coordinators-of-several",
    guarantee="prot-019",
    apis={"FindCoordinator": 4},
    detects=["P58", edit_answer("coordinators[].node_id", add=1000, api="FindCoordinator")],
)
def each_key_has_its_coordinator(wire):
    """FindCoordinator that is asked for several keys MUST answer for each key once, and name the same broker as for
    that key alone, for groups and for transactional ids, at every node.
    """
    keys = [wire.name(f"k{number}") for number in range(12)]
    for number, kind in enumerate(("group", "transaction")):
        alone = {}
        for key in keys:
            wire.until(
                lambda key=key, kind=kind: wire.find_coordinator(key, kind).at("coordinators[0].error_code") == 0,
                within=20,
                what="the coordinators are there",
            )
            alone[key] = wire.find_coordinator(key, kind).at("coordinators[0].node_id")
        for node in wire.nodes:
            answer = wire.ask(request("FindCoordinator", key_type=number, coordinator_keys=keys), to=node)
            found = [(row.key, row.node_id) for row in answer.must_succeed().struct.coordinators]
            named = {where for _, where in found}
            answer.must(named <= set(wire.nodes), f"the coordinators are at {named}; brokers are {wire.nodes}")
            answer.must(
                sorted(found) == sorted(alone.items()),
                f"the coordinators are {sorted(found)}; each alone they are {sorted(alone.items())}",
                "coordinators",
            )


@case(
    "protocol/epoch-ends-in-part",
    guarantees=["repl-008", "offs-009"],
    apis={"OffsetForLeaderEpoch": 3, "Metadata": 7},
    needs=["partitions", "leaders"],
    detects=["M32b", edit_answer("topics[].partitions[].end_offset", add=1, api="OffsetForLeaderEpoch")],
)
def each_partition_has_its_own_epoch_end(wire, topic_of):
    """One OffsetForLeaderEpoch MUST answer for each partition separately: the end of its log for its present epoch,
    none for an epoch that is yet to come, 3 where the partition does not exist, 75 where the client's own epoch is
    wrong.
    """
    topic = topic_of(partitions=3 * len(wire.nodes))
    one, two, three = wire.led_together(topic, 3)
    for number, partition in enumerate((one, two, three)):
        wire.produce(topic, batch(*["a"] * (number + 1)), partition).must_be_at(0)
    epochs = {partition: wire.leader_epoch(topic, partition) for partition in (one, two, three)}
    if min(epochs.values()) < 0:
        wire.not_applicable("the broker shows no leader epochs")
    rows = [
        {"partition": one, "current_leader_epoch": epochs[one], "leader_epoch": epochs[one]},
        {"partition": two, "current_leader_epoch": epochs[two] + 1, "leader_epoch": epochs[two]},
        {"partition": 99, "current_leader_epoch": -1, "leader_epoch": 0},
        {"partition": three, "current_leader_epoch": -1, "leader_epoch": epochs[three] + 5},
    ]
    asked = request("OffsetForLeaderEpoch", replica_id=-1, topics=[{"topic": topic, "partitions": rows}])
    answer = wire.ask(asked, to=wire.leader(topic, one))
    rows = answer.struct.topics[0].partitions
    returned = {row.partition: (row.error_code, row.leader_epoch, row.end_offset) for row in rows}
    wanted = {
        one: (0, epochs[one], 1),
        two: (errors.UNKNOWN_LEADER_EPOCH, -1, -1),
        99: (errors.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
        three: (0, -1, -1),
    }
    answer.must(
        returned == wanted, f"(error, epoch, end) of the partitions are {returned}; they must be {wanted}", "topics"
    )
