"""Requests for everything that there is, while as many things come as go."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.wire.messages import request

KEPT, TURNS, WITHIN_S, PAGES = 3, 4, 15, 200


@case(
    "protocol/lists-follow-one-for-one",
    guarantees=["prot-015", "grp-020"],
    apis={"Metadata": 1, "CreateTopics": 2, "DeleteTopics": 1},
    needs=["partitions"],
    detects=["B351"],
)
def what_has_gone_is_named_no_more(wire, rng):
    """Who asks for all topics, or all groups, MUST be named those that there are now: when one is deleted and another
    one made, so that there are as many as before, the deleted one MUST be missing and the new one MUST be there. In
    Metadata, DescribeTopicPartitions, DescribeLogDirs and ListGroups, asked before and after each change.

    Three topics and three groups, of which one is exchanged, four times.
    """
    base = wire.new_topic()
    for kind in _topics(wire, rng), _groups(wire, rng, base):
        for _ in range(TURNS):
            kind.must_be_listed()
            kind.exchange_one()
            kind.must_be_listed()


class ExchangedOneByOne:
    """Those that there are, and the names of all that there were. `lists`: by the API, what names all there are."""

    def __init__(self, wire, rng, made, deleted, lists):
        self.wire, self.rng = wire, rng
        self.made, self.deleted, self.lists = made, deleted, lists
        self.there = [made() for _ in range(KEPT)]
        self.ever = {*self.there}

    def exchange_one(self):
        self.deleted(self.there.pop(self.rng.randrange(KEPT))).must_succeed()
        self.there.append(self.made())
        self.ever.add(self.there[-1])

    def must_be_listed(self):
        for api, names in self.lists.items():
            if self.wire.versions(api):
                self.wire.eventually(partial(self._must_be_named, api, names), within=WITHIN_S)

    def _must_be_named(self, api, names):
        found = sorted({*names(self.wire)} & self.ever)
        self.wire.must(found == sorted(self.there), f"{api} names {found} of this case; there are {sorted(self.there)}")


def _topics(wire, rng):
    lists = {"Metadata": _by_metadata, "DescribeTopicPartitions": _by_pages, "DescribeLogDirs": _by_log_dirs}
    return ExchangedOneByOne(wire, rng, wire.new_topic, wire.delete_topic, lists)


def _groups(wire, rng, topic):
    """They have committed, and have no member."""

    def made():
        group = wire.name("group")
        wire.commit(group, topic, offset=1).must_succeed()
        return group

    return ExchangedOneByOne(wire, rng, made, wire.delete_groups, {"ListGroups": _by_groups})


def _by_metadata(wire):
    return [row.name for row in wire.metadata(all_topics=True).struct.topics if not row.error_code]


def _by_pages(wire):
    names, cursor = [], None
    for _ in range(PAGES):
        asked = request("DescribeTopicPartitions", topics=[], response_partition_limit=2000, cursor=cursor)
        page = wire.ask(asked).struct
        names += [row.name for row in page.topics]
        if (after := page.next_cursor) is None:
            break
        cursor = {"topic_name": after.topic_name, "partition_index": after.partition_index}
    return names


def _by_log_dirs(wire):
    asked = request("DescribeLogDirs", topics=None)
    answers = [wire.ask(asked, to=node).must_succeed().struct for node in wire.nodes]
    return [topic.name for answer in answers for folder in answer.results for topic in folder.topics]


def _by_groups(wire):
    return [row.group_id for node in wire.nodes for row in wire.list_groups(to=node).struct.groups]
