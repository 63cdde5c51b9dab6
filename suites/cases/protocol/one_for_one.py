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
    topics, groups = TopicsExchanged(wire, rng), GroupsExchanged(wire, rng)
    for _ in range(TURNS):
        for kind in rng.sample((topics, groups), 2):
            kind.must_be_listed()
            kind.exchange_one()
            kind.must_be_listed()


class ExchangedOneByOne:
    """Those that there are, and the names of all that there were."""

    def __init__(self, wire, rng):
        self.wire, self.rng = wire, rng
        self.there = [self.made() for _ in range(KEPT)]
        self.ever = {*self.there}

    def exchange_one(self):
        self.deleted(self.there.pop(self.rng.randrange(KEPT)))
        self.there.append(self.made())
        self.ever.add(self.there[-1])

    def made(self):
        raise NotImplementedError

    def deleted(self, name):
        raise NotImplementedError

    def lists(self):
        """By the API: what names all that there are."""
        raise NotImplementedError

    def must_be_listed(self):
        for api, names in self.lists().items():
            if self.wire.versions(api):
                self.wire.eventually(partial(self._must_be_named, api, names), within=WITHIN_S)

    def _must_be_named(self, api, names):
        found = sorted({*names()} & self.ever)
        self.wire.must(found == sorted(self.there), f"{api} names {found} of this case; there are {sorted(self.there)}")


class TopicsExchanged(ExchangedOneByOne):
    """Topics of one partition."""

    def made(self):
        return self.wire.new_topic()

    def deleted(self, topic):
        self.wire.delete_topic(topic).must_succeed()

    def lists(self):
        return {
            "Metadata": self._by_metadata,
            "DescribeTopicPartitions": self._by_pages,
            "DescribeLogDirs": self._by_log_dirs,
        }

    def _by_metadata(self):
        return [row.name for row in self.wire.metadata(all_topics=True).struct.topics if not row.error_code]

    def _by_pages(self):
        names, cursor = [], None
        for _ in range(PAGES):
            asked = request("DescribeTopicPartitions", topics=[], response_partition_limit=2000, cursor=cursor)
            page = self.wire.ask(asked).struct
            names += [row.name for row in page.topics]
            if (after := page.next_cursor) is None:
                break
            cursor = {"topic_name": after.topic_name, "partition_index": after.partition_index}
        return names

    def _by_log_dirs(self):
        asked = request("DescribeLogDirs", topics=None)
        answers = [self.wire.ask(asked, to=node).must_succeed().struct for node in self.wire.nodes]
        return [topic.name for answer in answers for folder in answer.results for topic in folder.topics]


class GroupsExchanged(ExchangedOneByOne):
    """Groups that have committed, and have no member."""

    def __init__(self, wire, rng):
        self.topic = wire.new_topic()
        super().__init__(wire, rng)

    def made(self):
        group = self.wire.name("group")
        self.wire.commit(group, self.topic, offset=1).must_succeed()
        return group

    def deleted(self, group):
        self.wire.delete_groups(group).must_succeed()

    def lists(self):
        return {"ListGroups": self._by_nodes}

    def _by_nodes(self):
        return [row.group_id for node in self.wire.nodes for row in self.wire.list_groups(to=node).struct.groups]
