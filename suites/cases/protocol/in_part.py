"""Questions about several things at once: each is answered for itself, as who asks for it alone is."""

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
    "transactions/described-in-part",
    guarantee="txn-026",
    apis={"DescribeTransactions": 0, "InitProducerId": 0},
    detects=["Q01", edit_answer("transaction_states[].error_code", set=0, api="DescribeTransactions")],
)
def each_transaction_of_a_request_is_described_for_itself(wire, topic, transactional_id):
    """One DescribeTransactions MUST tell of each transactional id its own producer, state and partitions: one that is
    open, one that has ended, one that has begun nothing, and one that there is not (105).
    """
    node = wire.coordinator(transactional_id, kind=1)
    names = [name for name in (wire.name(f"x{n}") for n in range(60)) if wire.coordinator(name, kind=1) == node]
    if len(names) < 3:
        wire.unclear(f"no 3 of 60 transactional ids have the coordinator of {transactional_id}")
    ended, idle, absent = names[:3]
    producers = {name: wire.producer(name) for name in (transactional_id, ended, idle)}
    producers[transactional_id].send(topic, "a").must_succeed()
    producers[ended].send(topic, "b").must_succeed()
    producers[ended].commit().must_succeed()
    wire.until(
        lambda: wire.describe_transaction(ended).at("transaction_states[0].transaction_state") == "CompleteCommit",
        within=20,
        what="the commit is complete",
    )
    asked = [absent, ended, transactional_id, idle]
    answer = wire.ask(request("DescribeTransactions", transactional_ids=asked), to=node)
    found = {
        row.transactional_id: (
            row.error_code,
            row.transaction_state,
            row.producer_id,
            [(part.topic, list(part.partitions)) for part in row.topics],
        )
        for row in answer.struct.transaction_states
    }
    wanted = {
        transactional_id: (0, "Ongoing", producers[transactional_id].id, [(topic, [0])]),
        ended: (0, "CompleteCommit", producers[ended].id, []),
        idle: (0, "Empty", producers[idle].id, []),
    }
    missing = found.pop(absent, None)
    answer.must(found == wanted, f"the transactions are {found}; they must be {wanted}", "transaction_states")
    answer.must(
        missing is not None and missing[0] == errors.TRANSACTIONAL_ID_NOT_FOUND,
        f"of an id that there is not it tells {missing}; it must be refused (105)",
        "transaction_states",
    )


@case(
    "admin/delete-records-in-part",
    guarantee="adm-011",
    apis={"DeleteRecords": 0},
    needs=["partitions"],
    detects=["M40h", edit_answer("topics[].partitions[].error_code", set=0, api="DeleteRecords")],
)
def each_partition_of_a_deletion_is_cut_for_itself(wire, topic_of):
    """Of the partitions that one DeleteRecords names each MUST be cut at its own offset and told its own log start; one
    beyond its high watermark is refused alone (1), and one that is not named stays whole.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    places = wire.led_together(topic, 4)
    for number, partition in enumerate(places):
        for value in range(3 + number):
            wire.produce(topic, batch(f"{number}.{value}"), partition).must_be_at(value)
    one, two, three, four = places
    rows = [{"partition_index": index, "offset": offset} for index, offset in ((three, -1), (one, 2), (two, 9))]
    asked = request("DeleteRecords", timeout_ms=20_000, topics=[{"name": topic, "partitions": rows}])
    answer = wire.ask(asked, to=wire.leader(topic, one), may_take_s=20)
    told = {row.partition_index: (row.error_code, row.low_watermark) for row in answer.struct.topics[0].partitions}
    wanted = {one: (0, 2), two: (errors.OFFSET_OUT_OF_RANGE, -1), three: (0, 5)}
    answer.must(told == wanted, f"(error, log start) of the partitions are {told}; they must be {wanted}", "topics")
    for partition, values in ((one, ["0.2"]), (two, [f"1.{n}" for n in range(4)]), (three, [])):
        wire.read_all(topic, partition).must_hold(*values)
    wire.read_all(topic, four).must_hold(*(f"3.{n}" for n in range(6)))
    wire.produce(topic, batch("next"), three).must_be_at(5)


@case(
    "protocol/epoch-ends-in-part",
    guarantees=["repl-008", "offs-009"],
    apis={"OffsetForLeaderEpoch": 3, "Metadata": 7},
    needs=["partitions", "leaders"],
    detects=["M32b", edit_answer("topics[].partitions[].end_offset", add=1, api="OffsetForLeaderEpoch")],
)
def each_partition_has_its_own_epoch_end(wire, topic_of):
    """One OffsetForLeaderEpoch MUST answer for each partition for itself: the end of its log for its present epoch,
    none for an epoch that is yet to come, 3 where there is no such partition, 75 where the asker's own epoch is wrong.
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
    told = {row.partition: (row.error_code, row.end_offset) for row in answer.struct.topics[0].partitions}
    wanted = {
        one: (0, 1),
        two: (errors.UNKNOWN_LEADER_EPOCH, -1),
        99: (errors.UNKNOWN_TOPIC_OR_PARTITION, -1),
        three: (0, -1),
    }
    answer.must(told == wanted, f"(error, end) of the partitions are {told}; they must be {wanted}", "topics")
