"""The oldest and the newest version of an API return the same, where both have the field (KIP-35)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

FETCH_BY_NAME = 12


@case(
    "protocol/offsets-in-every-version",
    guarantees=["cli-005", "offs-001", "offs-002"],
    apis={"ListOffsets": 1},
    needs=["partitions"],
    detects=["M30b", edit_answer("topics[].partitions[].offset", add=1, api="ListOffsets", skip=5)],
)
def list_offsets_means_the_same_in_every_version(wire, topic_of):
    """ListOffsets MUST name the same offsets in every version: both ends, times before, at, between and after the
    records, of several partitions in one request, one of which does not exist and is refused alone (3).
    """
    topic = topic_of(partitions=12)
    one, two = wire.led_together(topic, 2)
    begin = wire.now_ms() - 60_000
    for number in range(4):
        wire.produce(topic, batch(at=[begin + 2_000 * number, begin + 2_000 * number + 1_000]), one).must_be_at(
            2 * number
        )
    wire.produce(topic, batch(at=[begin]), two).must_be_at(0)
    asked = {
        -1: (8, 1),
        -2: (0, 0),
        begin: (0, 0),
        begin + 2_500: (3, -1),
        begin + 7_000: (7, -1),
        begin + 7_001: (-1, -1),
    }
    for version in wire.versions("ListOffsets"):
        for moment, wanted in asked.items():
            with wire.part(f"v{version} at {moment if moment < 0 else moment - begin}"):
                answer, found = _offsets(wire, topic, (one, two, 99), moment, version)
                must = {one: (0, wanted[0]), two: (0, wanted[1]), 99: (errors.UNKNOWN_TOPIC_OR_PARTITION, None)}
                answer.must(found == must, f"(error, offset) of the partitions are {found}; they must be {must}")


def _offsets(wire, topic, partitions, moment, version):
    """The answer of the leader of the first partition, and (error, offset) of each."""
    rows = [{"partition_index": index, "timestamp": moment} for index in partitions]
    answer = wire.ask(
        request("ListOffsets", replica_id=-1, timeout_ms=10_000, topics=[{"name": topic, "partitions": rows}]),
        to=wire.leader(topic, partitions[0]),
        version=version,
    )
    found = answer.struct.topics[0].partitions
    return answer, {row.partition_index: (row.error_code, None if row.error_code else row.offset) for row in found}


@case(
    "protocol/transactions-read-in-every-version",
    guarantees=["cli-005", "txn-002", "fetch-014"],
    apis={"Fetch": 4, "InitProducerId": 0, "EndTxn": 0},
    detects=["M15b", "M17", edit_answer("responses[].partitions[].last_stable_offset", add=1, api="Fetch")],
)
def committed_readers_see_the_same_in_every_version(wire, topic, transactional_id):
    """In every version of Fetch that knows isolation a committed reader MUST be given the same records, the same
    aborted transactions and the same last stable offset, and nothing of what is open.
    """
    aborts, commits, stays = (wire.producer(name) for name in (transactional_id, wire.name("x"), wire.name("y")))
    aborts.send(topic, "gone").must_be_at(0)
    commits.send(topic, "kept").must_be_at(1)
    aborts.abort().must_succeed()
    commits.commit().must_succeed()
    wire.await_settled(topic)
    wire.produce(topic, batch("plain")).must_be_at(4)
    stays.send(topic, "open").must_be_at(5)
    for version in wire.versions("Fetch"):
        if not 4 <= version <= FETCH_BY_NAME:
            continue
        with wire.part(f"v{version}"):
            answer = wire.fetch(topic, isolation=COMMITTED, version=version)
            answer.must_hold("gone", "kept", "plain")
            answer.must(answer.aborted == [(aborts.id, 0)], f"the aborted transactions are {answer.aborted}")
            stable = answer.last_stable_offset
            answer.must(stable == 5, f"the last stable offset is {stable}; it must be 5")
            wire.fetch(topic, version=version).must_hold("gone", "kept", "plain", "open")


@case(
    "protocol/metadata-in-every-version",
    guarantees=["cli-005", "prot-015"],
    needs=["partitions"],
    detects=["Q16", edit_answer("topics[].partitions[2]", drop=True, api="Metadata", skip=6)],
)
def metadata_returns_the_same_in_every_version(wire, topic_of):
    """Metadata MUST return in every version the same brokers, and for a topic the same partitions with leader, replicas
    and in-sync replicas; and UNKNOWN_TOPIC_OR_PARTITION (3) for a topic that does not exist.
    """
    topic, absent = topic_of(partitions=3), wire.name("absent")
    newest = _returned(wire.metadata(topic, absent))
    for version in wire.versions("Metadata"):
        if version < 4:
            continue  # before, a topic may be made by asking
        with wire.part(f"v{version}"):
            answer = wire.metadata(topic, absent, version=version)
            found = _returned(answer)
            answer.must(found == newest, f"it returns {found}; the newest version returns {newest}")
    brokers, topics = newest
    wire.must(sorted(brokers) == sorted(wire.nodes), f"the brokers are {sorted(brokers)}; they must be {wire.nodes}")
    wire.must(
        topics[absent] == (errors.UNKNOWN_TOPIC_OR_PARTITION, ()), f"of an absent topic it returns {topics[absent]}"
    )


def _returned(answer):
    brokers = {row.node_id: (row.host, row.port) for row in answer.struct.brokers}
    topics = {
        row.name: (
            row.error_code,
            tuple(
                sorted(
                    (part.partition_index, part.leader_id, tuple(part.replica_nodes), tuple(sorted(part.isr_nodes)))
                    for part in row.partitions
                )
            ),
        )
        for row in answer.struct.topics
    }
    return brokers, topics


@case(
    "protocol/partitions-page-by-page",
    guarantees=["prot-015", "adm-001"],
    apis={"DescribeTopicPartitions": 0},
    needs=["partitions"],
    detects=["Q12", edit_answer("topics[].partitions[0]", drop=True, api="DescribeTopicPartitions")],
)
def the_pages_together_are_the_whole(wire, topic_of):
    """DescribeTopicPartitions MUST return all partitions of all topics that it is asked for, each once and in order,
    whatever the page limit: one, as many as a topic has, more than exist; the cursor names the next (KIP-966).
    """
    topics = {topic_of(partitions=count, what=f"t{count}"): count for count in (3, 1, 4)}
    wanted = [(name, index) for name in sorted(topics) for index in range(topics[name])]
    for limit in (1, 2, 3, 4, 7, 8, 9, 100):
        found, cursor, pages = [], None, 0  # type: ignore[var-annotated]
        while pages <= len(wanted):
            answer = wire.ask(
                request(
                    "DescribeTopicPartitions",
                    topics=[{"name": name} for name in topics],
                    response_partition_limit=limit,
                    cursor=cursor,
                )
            ).must_succeed()
            page = [(row.name, part.partition_index) for row in answer.struct.topics for part in row.partitions]
            answer.must(len(page) <= limit, f"a page of {limit} has {len(page)} partitions", "topics")
            found, pages = found + page, pages + 1
            if (following := answer.struct.next_cursor) is None:
                break
            cursor = {"topic_name": following.topic_name, "partition_index": following.partition_index}
        with wire.part(f"pages of {limit}"):
            answer.must(found == wanted, f"the partitions are {found}; they must be {wanted}", "topics")  # type: ignore[possibly-undefined]
