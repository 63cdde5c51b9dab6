"""ElectLeaders where nothing is to be elected, drawn: of all partitions, of some, of unknown ones (KIP-460)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

PREFERRED, UNCLEAN, KINDS, NO_KINDS = 0, 1, 1, (2, 7, -1)
"""v0 knows preferred elections alone."""


@case(
    "admin/elections-that-are-not-needed",
    guarantees=["adm-013", "adm-016"],
    apis={"ElectLeaders": 0, "Metadata": 7},
    needs=["partitions", "leaders"],
    detects=["H10", "H11"],
)
def each_partition_has_its_own_result(wire, topic_of, rng):
    """Each partition that ElectLeaders names MUST have its own result: ELECTION_NOT_NEEDED (84) where the preferred
    replica leads, or, for an unclean election, where any leader exists; 3 where the partition does not exist. A request
    for all partitions (null) returns only those that needed an election. Another election type MUST be refused. No
    leader and no leader epoch may change by any of it.

    25 drawn requests in all versions.
    """
    counts = {topic_of(partitions=count, what=f"t{count}"): count for count in (1, 3)}
    absent = wire.name("absent")
    for name in counts:
        wire.eventually(lambda name=name: _first_replicas_lead(wire, name), within=20)
    for _ in range(25):
        version = rng.choice(list(wire.versions("ElectLeaders")))
        kind = rng.choice((PREFERRED, UNCLEAN, rng.choice(NO_KINDS))) if version >= KINDS else PREFERRED
        rows = [
            {"topic": name, "partitions": [rng.choice((0, 0, 1, 2, 3, 99, -1)) for _ in range(rng.randint(1, 4))]}
            for name in rng.sample([*counts, absent], rng.randint(1, 3))
        ]
        rows = rng.choice((rows, rows, rows, None))
        before = {name: _leaders(wire, name) for name in counts}
        asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=20_000)
        answer = wire.ask(asked, version=version, to=wire.controller(), may_take_s=20)
        found = {
            (row.topic, part.partition_id, part.error_code)
            for row in answer.struct.replica_election_results
            for part in row.partition_result
        }
        if kind in NO_KINDS:
            codes = {code for _, _, code in found} | ({answer.struct.error_code} if version >= KINDS else set())
            answer.must(codes and 0 not in codes, f"election type {kind} is answered with {sorted(codes)}, not refused")
        elif rows is None:
            needless = sorted((name, part, code) for name, part, code in found if name in counts)
            answer.must(not needless, f"of all partitions it names {needless}, which have no need of an election")
        else:
            wanted = {
                (row["topic"], part, _code(part, counts.get(row["topic"], 0)))
                for row in rows
                for part in row["partitions"]
            }
            answer.must(
                found == wanted,
                f"the results are {sorted(found)}; they must be {sorted(wanted)}",
                "replica_election_results",
            )
        after = {name: _leaders(wire, name) for name in counts}
        wire.must(after == before, f"(partition, leader, epoch) were {before}, and are {after}", answer)


def _code(partition, count):
    return errors.ELECTION_NOT_NEEDED if 0 <= partition < count else errors.UNKNOWN_TOPIC_OR_PARTITION


def _rows(wire, topic):
    return wire.metadata(topic).must_succeed().struct.topics[0].partitions


def _leaders(wire, topic):
    return sorted((row.partition_index, row.leader_id, row.leader_epoch) for row in _rows(wire, topic))


def _first_replicas_lead(wire, topic):
    away = [row.partition_index for row in _rows(wire, topic) if row.leader_id != row.replica_nodes[0]]
    wire.must(not away, f"partitions {away} of {topic} are not led by their first replica")
