"""The range assignor of brokers: topics of the same size that are read by the same members go together (KIP-848)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups.consumers_drawn import Reader, _settles
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

WITHIN_S, TURNS, MOST = 40, 5, 4


@case(
    "groups/consumer-ranges-go-together",
    guarantees=["g848-009"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    needs=["partitions"],
    level="should",
    detects=["M24j"],
)
def topics_of_a_size_are_assigned_alike(wire, topic_of, group, rng):
    """With the range assignor each member SHOULD own a run of partitions of each topic that it reads, and where all
    read the same, the same numbers of all topics with as many partitions, whichever members joined, left or read other
    topics before (KAFKA-16944): joins of streams by key rely on it.

    Up to four members, two topics that grow together; in the end each member in turn reads one of them and then both.
    """
    topics = [topic_of(partitions=4), topic_of(partitions=4, what="u")]
    group_of = RangeReaders(wire, group, topics, rng)
    for _ in range(2):
        group_of.comes()
    for _ in range(TURNS):
        rng.choice([group_of.comes, group_of.goes, group_of.grow, group_of.one_reads_one])()
        group_of.must_go_together()
    for one in rng.sample(group_of.readers, len(group_of.readers)):
        group_of.reads_one(one)
        group_of.must_go_together()


class RangeReaders:
    """The members of the group, which all read both topics but for a while."""

    def __init__(self, wire, name, topics, rng):
        self.wire, self.name, self.topics, self.rng = wire, name, topics, rng
        self.counts = dict.fromkeys(topics, 4)
        self.readers = []

    def comes(self):
        if len(self.readers) < MOST:
            member = ConsumerGroupMember(self.wire, self.name, *self.topics, assignor="range")
            member.beat().must_succeed()
            self.readers.append(Reader(member, self.topics))

    def goes(self):
        if len(self.readers) > 2:
            one = self.rng.choice(self.readers)
            self.readers.remove(one)
            one.member.leave().must_succeed()

    def grow(self):
        for topic in self.topics:
            self.counts[topic] += 1
            self.wire.create_partitions(topic, self.counts[topic]).must_succeed()
            self.wire.await_topic(topic)

    def one_reads_one(self):
        self.reads_one(self.rng.choice(self.readers))

    def reads_one(self, one):
        """One topic for a while, and then both again."""
        for reads in ([self.rng.choice(self.topics)], self.topics):
            one.reads = reads
            self._settle()

    def must_go_together(self):
        self._settle()
        self.wire.eventually(self._must_go_together, within=WITHIN_S)

    def _settle(self):
        _settles(self.wire, self.readers, self.counts, even=False)

    def _must_go_together(self):
        answers = [one.member.beat(topics=one.reads).must_succeed() for one in self.readers]
        for one, answer in zip(self.readers, answers, strict=True):
            runs = [sorted(n for name, n in one.member.owned if name == topic) for topic in self.topics]
            answer.must(runs[0] == runs[1], f"it owns {runs[0]} of one topic and {runs[1]} of the other", "assignment")
            whole = not runs[0] or runs[0] == list(range(runs[0][0], runs[0][-1] + 1))
            answer.must(whole, f"it owns {runs[0]}, which is no run", "assignment")
