"""Two partitions of three replicas whose nodes are parted in a drawn order: their logs are followed."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import is_in_sync, shown_by, take_over
from brokertrial.suites.cases.replication._followed import Followed
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.failures import breaks

SOON_MS, MUCH = 500, 100_000
"""A fetch that asks for so much is answered when its time is up, with all there is to be seen then."""


@case(
    "partition/whatever-comes-next",
    guarantees=["repl-001", "repl-004", "repl-007", "repl-009", "repl-010", "repl-012", "idem-008", "fetch-010"],
    needs=["three-nodes", "leaders", "network", "topic-settings"],
    apis={"ElectLeaders": 1, "AlterPartitionReassignments": 0, "InitProducerId": 0, "Fetch": 11, "ListOffsets": 5},
    detects=["M11b", "M34b", "X03"],
)
def every_replica_has_what_was_committed(wire, nodes, rng):
    """Whichever nodes are cut off from each other, and who leads then, each replica MUST have what was committed as its
    log, what was not committed MUST NOT be returned, and each producer's newest batches MUST be known.

    Two partitions with idempotent producers and plain batches; each cut once, in a drawn order, and after each both
    logs from every replica.
    """
    ones = [Followed(wire, nodes, rng) for _ in range(2)]
    for each in ones:
        each.write()
    acts = [_lagging, _left_out, _isolated, _deposed, _without_controllers, _followers_parted]
    for act in rng.sample(acts, len(acts)):
        for each in ones:
            for _ in range(rng.randint(1, 2)):
                rng.choice((each.write, each.again))()
        act(*rng.sample(ones, 2))
        for each in ones:
            each.write()
            each.must_be_whole()


def _roles(one, beside):
    """Leader and followers of one partition; the first follower leads the other, and the last one neither."""
    leader, (near, far) = one.roles()
    beside.reordered([near, leader, far])
    return leader, near, far


@breaks("prod-001")
def _sent_alone(one, to):
    """A batch of one of its producers, acknowledged by the leader alone."""
    sender, values = one.rng.choice(one.senders), one.news()
    made = sender.made(*values)
    one.wire.produce(one.topic, made, acks=1, to=to).must_be_at(one.end)
    return sender, made, values


def _lagging(one, beside):
    """For less time than it takes to be left out: what one replica in sync lacks is shown by none."""
    leader, near, far = _roles(one, beside)
    for node in (near, far):
        one.await_end(node)
    with apart(one.nodes, far, "brokers"):
        sent = _sent_alone(one, leader)
        for node in (near, leader):
            seen = one.wire.fetch(one.topic, offset=one.end, to=node, max_wait_ms=SOON_MS, min_bytes=MUCH)
            if seen.offsets:
                one.wire.rest(1)
                with breaks("repl-004"):
                    seen.must(
                        not is_in_sync(one.wire, one.topic, far, leader),
                        f"node {node} shows offsets {seen.offsets}; node {far} is in sync and lacks them",
                    )
    one.committed(*sent)


@breaks("repl-012")
def _left_out(one, beside):
    """Both go on without a replica that lags."""
    leader, _, far = _roles(one, beside)
    with apart(one.nodes, far, "brokers"):
        sent = _sent_alone(one, leader)
        one.wire.until(
            lambda: not is_in_sync(one.wire, one.topic, far, leader), within=WITHIN_S, what=f"node {far} is left out"
        )
        one.committed(*sent)
        for each in (one, beside):
            each.write()


@breaks("repl-010")
def _isolated(one, beside):
    """The others elect a leader; what the former one takes alone is gone, and is new to the log when it comes again."""
    leader, near, _ = _roles(one, beside)
    with apart(one.nodes, leader):
        sent = _sent_alone(one, leader)
        _others_lead(one, leader, asked=near)
        _write_to(one, shown_by(one.wire, one.topic, near).leader_id)
        _write_to(beside, near)
    one.wire.await_topic(one.topic)
    one.committed(*sent)


@breaks("repl-010")
def _deposed(one, beside):
    """The same by an election that is asked for: the former leader knows of it at once."""
    leader, near, far = _roles(one, beside)
    with apart(one.nodes, leader, "brokers"):
        sent = _sent_alone(one, leader)
        take_over(one.wire, one.topic, [near, leader, far])
        one.wire.refresh_metadata(one.topic)
        one.write_plain()
    one.committed(*sent)


@breaks("repl-007")
def _without_controllers(one, beside):
    """The leader replicates, and does not learn who leads next."""
    leader, near, _ = _roles(one, beside)
    with apart(one.nodes, leader, "controllers"):
        _others_lead(one, leader, asked=near)
        _write_to(one, shown_by(one.wire, one.topic, near).leader_id)
        _write_to(beside, near)
    one.wire.await_topic(one.topic)


def _followers_parted(one, beside):
    """Of the other partition one is the leader: it goes on without the one that it does not reach."""
    _, near, far = _roles(one, beside)
    with apart(one.nodes, near, "brokers", [far]):
        for each in (one, beside, one):
            each.write()


@breaks("repl-007")
def _others_lead(one, former, asked):
    one.wire.until(
        lambda: shown_by(one.wire, one.topic, asked).leader_id not in (former, NO_NODE),
        within=WITHIN_S,
        what=f"another node than {former} leads",
    )


@breaks("repl-010")
def _write_to(one, leader):
    """The leader is named: a node that is cut off may be asked who leads, and be wrong. The batch is of no producer,
    for what one has sent to the former leader may be new to this one."""
    values = one.news()

    def taken():
        answer = one.wire.produce(one.topic, batch(*values), to=leader)
        return None if answer.error else answer

    one.wire.until(taken, within=WITHIN_S, what=f"node {leader} takes a batch").must_be_at(one.end)
    one.values += values
