"""A partition of three replicas that moves, loses nodes and falls behind, in a drawn order: its log is followed."""

from itertools import accumulate

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._followed import Followed, Sender
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, frozen, others_lead, partition, thawed
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

PARTLY = (errors.REQUEST_TIMED_OUT, errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
PREFERRED = 0
LONG_MS, MUCH = 200, 100_000
"""A fetch that asks for so much is answered when its time is up, with all there is to be seen then."""


@case(
    "replication/whatever-comes-next",
    guarantees=["repl-001", "repl-004", "repl-007", "repl-009", "repl-010", "repl-012", "idem-008", "fetch-010"],
    needs=["three-nodes", "leaders", "pause", "kill", "terminate", "restart", "topic-settings"],
    apis={"ElectLeaders": 1, "AlterPartitionReassignments": 0, "InitProducerId": 0, "Fetch": 11, "ListOffsets": 5},
    detects=["M11b", "M34b", "X01", "X02", "X03", "Y41"],
)
def every_replica_has_what_was_committed(wire, nodes, rng):
    """Whichever replica leads, dies, is paused or is created anew, each of them MUST have what was committed as its
    log, what was not committed MUST NOT be returned nor acknowledged, and each producer's newest batches MUST be known.

    One partition, two idempotent producers and plain batches; each disturbance once, in a drawn order, and after each
    the whole log from every replica.
    """
    one = Followed(wire, nodes, rng)
    one.write()
    acts = [_moved, _leader_killed, _leader_stopped, _follower_killed, _begun_anew, _one_behind, _both_behind]
    acts += [_deposed, _rebuilt]
    for act in rng.sample(acts, len(acts)):
        for _ in range(rng.randint(1, 3)):
            rng.choice((one.write, one.write, one.again))()
        act(one)
        one.must_be_whole()
        if rng.random() < 0.3:
            one.cut()


def _moved(one):
    leader, followers = one.roles()
    one.reordered([*followers, leader])


def _rebuilt(one):
    """A replica is taken away and given back: it begins with nothing."""
    leader, (other, gone) = one.roles()
    one.reordered([leader, other])
    one.write()
    one.reordered([leader, other, gone])
    one.reordered([gone, leader, other])


def _leader_killed(one):
    _without_its_leader(one, one.nodes.kill)


def _leader_stopped(one):
    _without_its_leader(one, one.nodes.terminate)


@breaks("adm-013")
def _without_its_leader(one, end):
    """The others go on. While the first replica is gone it is not elected, however it is asked for (KIP-460)."""
    leader, followers = one.roles()
    one.reordered([leader, *followers])
    end(leader)
    others_lead(one.wire, one.topic, leader)
    one.again()
    one.write()
    rows = [{"topic": one.topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=PREFERRED, topic_partitions=rows, timeout_ms=10_000)
    one.wire.ask(asked, to=one.wire.controller).must_be_refused(errors.PREFERRED_LEADER_NOT_AVAILABLE)
    one.write()
    one.start_again(leader)


def _follower_killed(one):
    _, (dead, _) = one.roles()
    _killed(one, dead)
    one.write()
    one.cut()
    one.write()
    one.start_again(dead)


def _killed(one, node):
    one.nodes.kill(node)
    one.wire.until(
        lambda: node not in partition(one.wire, one.topic).isr_nodes,
        within=WITHIN_S,
        what=f"node {node} is out of sync",
    )


def _begun_anew(one):
    """All that a dead replica had is deleted meanwhile, and what its producers wrote since. When it leads, they are
    unknown to it: it takes the next batch of each, whatever its sequence."""
    leader, (dead, other) = one.roles()
    one.writes_of_each()
    one.await_end(dead)
    _killed(one, dead)
    one.writes_of_each()
    one.cut(one.end)
    one.write_plain()
    one.start_again(dead)
    one.reordered([dead, leader, other])
    one.writes_of_each()


def _one_behind(one):
    """What one replica in sync has not is shown by no other."""
    leader, (near, far) = one.roles()
    for node in (near, far):
        one.await_end(node)
    frozen(one.nodes, [far])
    values, sender = one.news(), one.rng.choice(one.senders)
    made = sender.made(*values)
    one.wire.produce(one.topic, made, acks=1, to=leader).must_be_at(one.end)
    for node in (near, leader):
        _must_not_be_shown(one, node, lacking=far)
    acked = one.wire.produce(one.topic, made, to=leader, timeout_ms=LONG_MS)
    if not acked.error:
        _must_be_in_sync(one, far)
    with breaks("repl-001", "repl-010"):
        acked.must_be_refused(*PARTLY)
    thawed(one.wire, one.nodes, one.topic, [far])
    one.committed(sender, made, values)


@breaks("repl-010")
def _both_behind(one):
    """A batch that the leader alone has is not acknowledged to acks=all, whether it is new or sent again."""
    leader, followers = one.roles()
    frozen(one.nodes, followers)
    values, sender = one.news(), one.rng.choice(one.senders)
    made = sender.made(*values)
    for _ in range(2):
        one.wire.produce(one.topic, made, to=leader, timeout_ms=LONG_MS).must_be_refused(*PARTLY)
    _must_not_be_shown(one, leader)
    thawed(one.wire, one.nodes, one.topic, followers)
    one.committed(sender, made, values)


def _must_be_in_sync(one, node):
    """Else the others have committed without it, as they may. The leader's Metadata shows that a moment later."""
    one.wire.rest(1)
    shown = one.wire.metadata(one.topic, to=one.wire.leader(one.topic)).struct.topics[0].partitions[0]
    if node not in shown.isr_nodes:
        one.wire.unclear(
            f"node {node} was left out of the replicas in sync before the others were asked", "slow-target"
        )


@breaks("repl-004")
def _must_not_be_shown(one, node, lacking=None):
    seen = one.wire.fetch(one.topic, offset=one.end, to=node, max_wait_ms=LONG_MS, min_bytes=MUCH).must_succeed()
    if seen.offsets and lacking is not None:
        _must_be_in_sync(one, lacking)
    seen.must(
        seen.high_watermark <= one.end and not seen.offsets,
        f"node {node} shows offsets {seen.offsets} below the high watermark {seen.high_watermark}; "
        f"a replica in sync has nothing from offset {one.end} on",
    )


@breaks("repl-010")
def _deposed(one):
    """The leader alone has three batches when it dies, the second of a producer that no other has heard of. The first
    ones may have been on their way, and are sent again to the next leader; the others to the old one when it leads
    again: it gave them up, and they are new to it."""
    wire, topic = one.wire, one.topic
    leader, followers = one.roles()
    epoch = partition(wire, topic).leader_epoch
    known, unheard = one.rng.choice(one.senders), Sender(wire.producer())
    frozen(one.nodes, followers)
    sent = [_alone(one, sender) for sender in (known, unheard, known)]
    ends = list(accumulate((len(values) for _, _, values in sent), initial=one.end))
    for offset, (_, made, _) in zip(ends, sent, strict=False):
        wire.produce(topic, made, acks=1, to=leader).must_be_at(offset)
    one.nodes.kill(leader)
    for node in followers:
        one.nodes.resume(node)
    others_lead(wire, topic, leader)
    end = one.end_of(epoch)
    arrived = sum(end >= each for each in ends[1:])
    for each in sent[:arrived]:
        one.committed(*each)
    one.write_plain()
    if not arrived:
        one.committed(*sent[0])
    one.start_again(leader)
    all_in_sync(wire, topic)
    one.reordered([leader, *followers])
    for each in sent[max(arrived, 1) :]:
        one.committed(*each)
    one.senders.append(unheard)


def _alone(one, sender):
    values = one.news()
    return sender, sender.made(*values), values
