"""What a leader makes of what its followers say: the suite plays them, one Fetch at a time."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import EPOCHS_SINCE, LAST_EPOCHS_SINCE, Played
from brokertrial.suites.cases.partition._replicas import NEEDS, lead_in_this_order, shown_by
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
ROUNDS = 8
APIS = {"CreateTopics": 5, "Fetch": 12, "ListOffsets": 1, "ElectLeaders": 1, "AlterPartitionReassignments": 0}


def told_by_fetches(wire, played):
    """Not applicable where followers do not get more than consumers do: they use something else than Fetch."""
    played.write()
    follower = next(iter(played.at))
    if not played.said(follower, played.at[follower]).raw:
        wire.not_applicable("its followers do not replicate by Fetch", "unsupported")


@case(
    "partition/committed-as-its-followers-say",
    guarantees=["repl-004", "repl-010", "fetch-010", "prod-010"],
    needs=NEEDS,
    apis=APIS,
    detects=["M31e", "M34b"],
)
def what_followers_have_is_committed(wire, nodes, rng):
    """A record MUST be committed as soon as each replica in sync has asked its leader for what comes after it, and not
    before: then, and only then, is it returned to consumers, below the end that ListOffsets names, and acknowledged to
    acks=all. Nothing that was committed MUST be taken back where a follower is behind again.

    Followers' positions in a drawn order, Fetch in each of its versions.
    """
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0", "1")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0", "1"])
        told_by_fetches(wire, played)
        played.all_say_the_end()
        for _ in range(ROUNDS):
            rng.choice((played.write, played.write_for_all))()
            rng.choice((played.write, played.write_for_all))()
            for follower in rng.choices(followers, k=3):
                played.says_something(follower)
                played.must_be_seen()
            played.all_say_the_end()
            played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


@case(
    "partition/positions-that-do-not-count",
    guarantees=["repl-004", "repl-001", "fetch-011"],
    needs=NEEDS,
    apis=APIS,
    detects=["B32"],
)
def what_a_follower_cannot_have_counts_for_nothing(wire, nodes, rng):
    """A leader MUST NOT count what a follower cannot have: a position with another leader epoch (74, 75), one that lies
    in an epoch where its last one had ended (it is named that end), of an epoch that never was or beyond the log's end
    (1), nor what another node says than a replica (75, or 6 where it names no epoch). What it says rightly afterwards
    MUST count.

    The log has records of three leader epochs; both replicas' names are used, one leads.
    """
    leader, follower, stranger = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, follower], **ALONE)
    ends, epochs = [0], list[int]()
    for order in ([leader, follower], [follower, leader], [leader, follower]):
        all_in_sync(wire, topic)
        lead_in_this_order(wire, topic, order)
        wire.refresh_metadata(topic)
        made = [f"{number}" for number in range(ends[-1], ends[-1] + rng.randint(1, 3))]
        wire.produce(topic, batch(*made)).must_be_at(ends[-1])
        ends.append(ends[-1] + len(made))
        epochs.append(shown_by(wire, topic, order[0]).leader_epoch)
    all_in_sync(wire, topic)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, [follower], [f"{number}" for number in range(ends[-1])])
        told_by_fetches(wire, played)
        wrong = [
            _of_another_epoch(played, follower, -1, errors.FENCED_LEADER_EPOCH),
            _of_another_epoch(played, follower, 1, errors.UNKNOWN_LEADER_EPOCH),
            _diverging(played, follower, epochs[0], ends[1]),
            _of_no_epoch(played, follower),
            _beyond(played, follower),
            _of_no_replica(played, stranger),
        ]
        for each in rng.sample(wrong, len(wrong)):
            played.write()
            each()
            played.must_be_seen()
            if rng.random() < 0.5:
                played.all_say_the_end()
        played.all_say_the_end()
        played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


def _versions(played, since):
    return [version for version in played.wire.versions("Fetch") if version >= since]


def _refused(played, says, code, why):
    answer = says()
    answer.must(answer.error == code, f"it is answered {answer.error}; {why}, so it must be {code}")


def _of_another_epoch(played, follower, shift, code):
    def act():
        version = played.rng.choice(_versions(played, EPOCHS_SINCE))
        _refused(
            played,
            lambda: played.said(follower, played.end, version=version, current_leader_epoch=played.epoch + shift),
            code,
            f"it names leader epoch {played.epoch + shift} and the leader's is {played.epoch}",
        )

    return act


def _diverging(played, follower, first, first_end):
    """Its last record is of the first epoch, and it has as many as the leader: most of them are other records."""

    def act():
        version = played.rng.choice(_versions(played, LAST_EPOCHS_SINCE))
        answer = played.said(
            follower, played.end, version=version, current_leader_epoch=played.epoch, last_fetched_epoch=first
        )
        answer.must_succeed()
        named = answer.struct.responses[0].partitions[0].diverging_epoch
        answer.must(
            (named.epoch, named.end_offset) == (first, first_end),
            f"it names epoch {named.epoch} up to {named.end_offset}; the follower's last epoch is {first}, which ended "
            f"at {first_end}, before the follower's offset {played.end}",
        )

    return act


def _of_no_epoch(played, follower):
    def act():
        version = played.rng.choice(_versions(played, LAST_EPOCHS_SINCE))
        _refused(
            played,
            lambda: played.said(follower, played.end, version=version, last_fetched_epoch=played.epoch + 1),
            errors.OFFSET_OUT_OF_RANGE,
            f"its last record is of epoch {played.epoch + 1}, which never was",
        )

    return act


def _beyond(played, follower):
    def act():
        offset = played.end + played.rng.randint(1, 5)
        _refused(
            played,
            lambda: played.said(follower, offset),
            errors.OFFSET_OUT_OF_RANGE,
            f"it asks for offset {offset}, and the log ends at {played.end}",
        )

    return act


def _of_no_replica(played, stranger):
    def act():
        version = played.rng.choice(played.wire.versions("Fetch"))
        names = version >= EPOCHS_SINCE and played.rng.random() < 0.5
        row = {"current_leader_epoch": played.epoch} if names else {}
        _refused(
            played,
            lambda: played.said(stranger, played.end, version=version, **row),
            errors.UNKNOWN_LEADER_EPOCH if names else errors.NOT_LEADER_OR_FOLLOWER,
            f"node {stranger} is no replica, and names {'an' if names else 'no'} epoch",
        )

    return act
