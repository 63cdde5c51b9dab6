"""AlterPartitionReassignments of many partitions, some of which cannot be moved as they are asked to (KIP-455)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._addresses import addresses
from brokertrial.suites.cases.replication._roles import WITHIN_S, on_the_move
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

API = "AlterPartitionReassignments"
ALONE = {"min.insync.replicas": "1"}
PARTITIONS, BEYOND, NO_BROKER = 6, 17, 99_999
REFUSED, UNKNOWN, NOTHING = (
    errors.INVALID_REPLICA_ASSIGNMENT,
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.NO_REASSIGNMENT_IN_PROGRESS,
)


@case(
    "replication/moved-in-part",
    guarantees=["adm-019", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={API: 0, "ListPartitionReassignments": 0},
    detects=["B336", "B337"],
)
def each_partition_is_moved_or_refused_for_itself(wire, nodes, rng):
    """Of many partitions in one request each MUST have its own answer: those that can be moved MUST be, whatever is
    wrong with others of their topic, and those that are refused MUST stay as they are. An empty list of replicas MUST
    be refused (39), also where a reassignment is under way, which goes on: only null cancels one.

    Brokers that there are not, one named twice, no replicas, nothing to cancel, partitions and topics that there are
    not, in drawn order; in each version. The one that is under way waits for a node that is dead.
    """
    one, two, dead = rng.sample(list(wire.nodes), 3)
    waits, versions = _made(wire, "waits", one), list(wire.versions(API))
    topics = {version: [_made(wire, f"v{version} {n}", one) for n in range(2)] for version in versions}
    nodes.kill(dead)
    wire.until(lambda: dead not in addresses(wire, one), within=WITHIN_S, what=f"node {one} knows that {dead} is dead")
    begun = wire.ask(_moves([(waits, 0, [one, dead])]), to=one)
    begun.must_have("responses[0].partitions[0].error_code", errors.NONE)
    for version in versions:
        with wire.part(f"v{version}"):
            _one_request(wire, rng, version, waits, topics[version], (one, two))
    nodes.start(dead)
    wire.until(lambda: waits not in on_the_move(wire, one)[0], within=WITHIN_S, what=f"{waits} has moved")
    for topic in (waits, *(each for both in topics.values() for each in both)):
        wire.await_topic(topic)
        wire.read_all(topic).must_hold("a")


def _made(wire, what, on):
    topic = wire.name(what)
    placed = {index: [on] for index in range(PARTITIONS)}
    wire.create_topic(topic, partitions=-1, assignments=placed, configs=ALONE).must_succeed()
    wire.await_topic(topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    return topic


def _moves(rows):
    topics = [
        {
            "name": topic,
            "partitions": [{"partition_index": index, "replicas": on} for name, index, on in rows if name == topic],
        }
        for topic in dict.fromkeys(name for name, _, _ in rows)
    ]
    return request(API, timeout_ms=10_000, topics=topics)


def _one_request(wire, rng, version, waits, topics, nodes):
    one, two = nodes
    rows = _drawn(wire, rng, waits, topics, two)
    drawn = rng.sample(list(rows), len(rows))
    answer = wire.ask(_moves([(*place, rows[place][0]) for place in drawn]), version=version, to=one)
    parts = [(row.name, part) for row in answer.struct.responses for part in row.partitions]
    codes = {(name, part.partition_index): part.error_code for name, part in parts}
    for place, (on, code) in rows.items():
        said = f"moving {place[0]}-{place[1]} to {on} is answered {codes.get(place)}; it must be {code}"
        answer.must(codes.get(place) == code, said, "responses")
    for topic in topics:
        wanted = {n: [one if rows[topic, n][1] else two] for n in range(PARTITIONS)}
        wire.eventually(lambda of=topic, on=wanted: _must_be_on(wire, one, of, on), within=WITHIN_S)
    listed, answer = on_the_move(wire, one)
    answer.must(list(listed) == [waits], f"on the move are {sorted(listed)}; it must be {waits} alone", "topics")


def _drawn(wire, rng, waits, topics, to):
    """Topic and partition -> the replicas that are asked for, and the code that is due."""
    wrong: list[tuple[list[int] | None, int]] = [
        *(([*on], REFUSED) for on in ((NO_BROKER,), (to, to), (), (to, NO_BROKER))),
        (None, NOTHING),
    ]
    rows = {(waits, 0): ([], REFUSED), (wire.name("none"), 0): ([to], UNKNOWN)}
    for topic in topics:
        moved = rng.sample(range(PARTITIONS), PARTITIONS // 2)
        rows |= {(topic, n): ([to], errors.NONE) if n in moved else rng.choice(wrong) for n in range(PARTITIONS)}
        rows[topic, BEYOND] = ([to], UNKNOWN)
    return rows


def _must_be_on(wire, asked, topic, wanted):
    answer = wire.metadata(topic, to=asked)
    found = {row.partition_index: list(row.replica_nodes) for row in answer.struct.topics[0].partitions}
    answer.must(found == wanted, f"the partitions of {topic} are on {found}; they must be on {wanted}", "topics")
