"""Topics in Metadata, drawn: asked for in every way and version, while they are created, grown and deleted."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.internal_topics import partitions_if_shown
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BY_ID, NOT_ASKED, WITHIN_S = 12, -(1 << 31), 20
INVALID = ("", ".", "..", "no spaces", "nor/slashes", "n" * 250, "ümlaut")
CHANGES = ("grow", "delete", "make", "use", "nothing", "nothing", "nothing")
CREATES_ON_USE = "auto.create.topics.enable"
ONLY_FOR_CLUSTERS = range(8, 11)
"""Versions of Metadata that return what may be done on the cluster."""


@case(
    "protocol/topics-asked-for-in-any-way",
    guarantees=["prot-015", "prot-016", "prot-017", "prot-018", "adm-001", "adm-006", "adm-007", "prod-015"],
    apis={"Metadata": 10, "CreateTopics": 5, "DeleteTopics": 1, "CreatePartitions": 0},
    needs=["partitions"],
    detects=["C10", "C11", "S06", "S07", "Q16", "V15"],
)
def topics_are_described_the_same_in_every_way(wire, rng):
    """Whichever topics Metadata is asked for, in whatever version and way (all of them, by names, by ids, repeatedly,
    with unknown, invalid, deleted and internal ones among them, with creation allowed or not), it MUST return the
    current state of each: error code, id, partitions, leaders, replicas, whether it is internal, and its authorized
    operations where they are asked for. An invalid name MUST be refused (17), an unknown id too (100), and no topic may
    appear that was not asked for; the brokers and the cluster id are the same in all answers.

    Topics are created, created by being asked for, grown and deleted between 80 drawn requests. The same model checks
    DescribeTopicPartitions page by page, where it is offered.
    """
    topics = DescribedTopics(wire, rng)
    for _ in range(3):
        topics.make()
    for _ in range(80):
        change = rng.choice(CHANGES)
        if change == "make" and len(topics.there) < 5:
            topics.make()
        elif change == "use" and len(topics.there) < 5:
            topics.use()
        elif change == "delete" and len(topics.there) > 2 and len(topics.gone) < 4:
            topics.delete()
        elif change == "grow":
            topics.grow()
        node = rng.choice(wire.nodes)
        topics.must_be_described(node)
        if wire.versions("DescribeTopicPartitions") and rng.random() < 0.3:
            topics.must_be_described_in_pages(node)


class DescribedTopics:
    """Topics with their numbers of partitions, and those that are no more."""

    def __init__(self, wire, rng):
        self.wire, self.rng = wire, rng
        self.there, self.ids, self.gone = {}, {}, {}
        self.internal = "__consumer_offsets"
        wire.coordinator(wire.name("g"))  # which makes the internal topic
        partitions_if_shown(wire, self.internal)
        self.creates = wire.setting(CREATES_ON_USE) != "false"
        self.made = 0

    @breaks("adm-001")
    def make(self):
        """A new topic, or one under a name that was free again."""
        again = self.rng.choice(sorted(self.gone)) if self.gone and self.rng.random() < 0.5 else None
        name = again or self.wire.name("t")
        partitions = self.rng.choice((1, 2, 3, 5))
        replicas = min(3, len(self.wire.nodes))
        self.wire.create_topic(name, partitions=partitions, replicas=replicas).must_succeed()
        self.wire.await_topic(name)
        before = self.gone.pop(name, None)
        self.there[name], self.ids[name] = partitions, self.wire.topic_id(name)
        with breaks("prot-018"):
            self.wire.must(self.ids[name] != before, f"{name} has the id that it had before it was deleted")

    @breaks("prod-015")
    def use(self):
        """A topic is made because it is asked for, in a version that allows it, or that cannot say whether it does."""
        if not self.creates:
            return
        name, node = self.wire.name("t"), self.rng.choice(self.wire.nodes)
        version = self.rng.choice(list(self.wire.versions("Metadata")))
        allows = {"allow_auto_topic_creation": True} if version >= 4 else {}
        asked = request("Metadata", topics=[{"name": name}], **allows)
        self.wire.eventually(
            lambda: self.wire.ask(asked, version=version, to=node).must_have("topics[0].error_code", 0), within=WITHIN_S
        )
        self.wire.await_topic(name)
        self.there[name], self.ids[name] = int(self.wire.setting("num.partitions")), self.wire.topic_id(name)

    @breaks("adm-006")
    def delete(self):
        name = self.rng.choice(sorted(self.there))
        self.wire.delete_topic(name).must_succeed()
        self.gone[name] = self.ids.pop(name)
        del self.there[name]

    @breaks("adm-007")
    def grow(self):
        name = self.rng.choice(sorted(self.there))
        if self.there[name] < 8:
            self.there[name] += self.rng.choice((1, 2))
            self.wire.create_partitions(name, self.there[name]).must_succeed()

    # Metadata

    @breaks("prot-015")
    def must_be_described(self, node):
        """A drawn question, in a drawn version: it must agree with the newest version, asked for all topics."""
        rng, wire = self.rng, self.wire
        version = rng.choice(list(wire.versions("Metadata")))
        ways = ["names", "names", "names", "all", *(["ids"] * 2 if version >= BY_ID else [])]
        names, rows = getattr(self, f"_{rng.choice(ways)}")(version)
        allowed = version < 4 or rng.random() < 0.5
        if self.creates and allowed and names is not None:
            rows = [row for row in rows if row["name"] in (*self.there, self.internal, *INVALID) or version >= BY_ID]
            allowed = False
        operations = version >= 8 and rng.random() < 0.5
        on_cluster = version in ONLY_FOR_CLUSTERS and rng.random() < 0.5
        asked = {"topics": rows}
        if version >= 4:
            asked["allow_auto_topic_creation"] = allowed
        if operations:
            asked["include_topic_authorized_operations"] = True
        if on_cluster:
            asked["include_cluster_authorized_operations"] = True

        def check():
            every = wire.metadata(all_topics=True, to=node).must_succeed()
            answer = wire.ask(request("Metadata", **asked), version=version, to=node)
            self._must_agree(answer, every, rows, operations)
            if version in ONLY_FOR_CLUSTERS:
                reported = answer.struct.cluster_authorized_operations != NOT_ASKED
                answer.must(
                    reported == on_cluster, "the cluster's operations are reported, or left out, against what was asked"
                )

        wire.eventually(check, within=WITHIN_S)

    def _names(self, version):
        rng = self.rng
        known = rng.sample(sorted(self.there), rng.randint(0, 2))
        others = [rng.choice(sorted(self.gone)) if self.gone else self.wire.name("nobody"), self.wire.name("nobody")]
        mixed = [*known, *rng.sample(INVALID, rng.randint(0, 2)), *rng.sample(others, rng.randint(0, 2))]
        mixed += rng.sample([*mixed, self.internal], 1)
        rng.shuffle(mixed)
        return mixed, [{"name": name} for name in mixed]

    def _ids(self, version):
        rng = self.rng
        known = [self.ids[name] for name in rng.sample(sorted(self.there), rng.randint(1, 2))]
        others = [*self.gone.values(), UUID(int=rng.getrandbits(128))]
        mixed = [*known, *rng.sample(others, 1), rng.choice(known)]
        return mixed, [{"topic_id": each, "name": None} for each in mixed]

    def _all(self, version):
        return None, [] if version == 0 else None

    @breaks("prot-015")
    def _must_agree(self, answer, every, rows, operations):
        """Row for row what the model says, with leaders and replicas as in the answer for all topics."""
        newest = {row.name: row for row in every.struct.topics}
        counts = {name: len(newest[name].partitions) for name in self.there if name in newest}
        with breaks("adm-001", "adm-007"):
            every.must(counts == self.there, f"the topics have {counts} partitions; they must have {self.there}")
        left = [name for name in self.gone if name in newest]
        with breaks("adm-006"):
            every.must(not left, f"{left} were deleted")
        wanted = {}
        for row in (
            rows if rows else [{"name": name} for name in ([] if rows is not None and answer.version else newest)]
        ):
            key, must = self._wanted(row, newest, answer.version)
            wanted[key] = must
        version = answer.version
        found: dict[str, tuple[object, ...]] = {}
        for row in answer.struct.topics:
            key = row.name if row.name is not None else str(row.topic_id)
            shown = _shown(row, version)
            with breaks("prot-017"):
                answer.must(found.setdefault(key, shown) == shown, f"{key[:20]!r} is reported twice, and not the same")
            reported = version >= 8 and row.topic_authorized_operations != NOT_ASKED
            fits = reported == operations or row.error_code != 0
            answer.must(fits, f"the operations on {key[:20]!r} are reported, or left out, against what was asked")
        wrong = [key for key in [*wanted, *found] if wanted.get(key) != found.get(key)]
        first = next(iter(wrong), "")
        with breaks(*self._broken_by(first, found, wanted, rows)):
            answer.must(
                not wrong,
                f"of {first[:20]!r} it reports {found.get(first)!s:.200}; it must report {wanted.get(first)!s:.200}",
                "topics",
            )
        brokers = [sorted((one.node_id, one.host, one.port) for one in each.struct.brokers) for each in (answer, every)]
        answer.must(brokers[0] == brokers[1], f"the brokers are {brokers[0]}, and {brokers[1]} in the newest version")
        if version >= 2:
            answer.must_have("cluster_id", every.struct.cluster_id)

    def _broken_by(self, key, found, wanted, rows):
        """A topic that was not asked for, or is left out; one that has come about; an id; or what is said of one."""
        if key not in wanted or key not in found:
            return ("prod-015",) if key not in (*self.there, self.internal, *found) else ("prot-016", "prot-017")
        if any(row.get("topic_id") for row in rows or ()) or found[key][1] != wanted[key][1]:
            return ("prot-018",)
        return ("prot-015",)

    def _wanted(self, row, newest, version):
        """The key of a row that is asked for, and how it must be shown."""
        if row.get("topic_id"):
            name = next((name for name, id_ in self.ids.items() if id_ == row["topic_id"]), None)
            if name is None:
                return str(row["topic_id"]), (errors.UNKNOWN_TOPIC_ID, str(row["topic_id"]), False, [])
        else:
            name = row["name"]
        if name in newest:
            return name, _shown(newest[name], version)
        invalid = name in INVALID
        code = errors.INVALID_TOPIC_EXCEPTION if invalid else errors.UNKNOWN_TOPIC_OR_PARTITION
        return name, (code, str(UUID(int=0)) if version >= 10 else None, False, [])

    # DescribeTopicPartitions

    @breaks("adm-001", "adm-006", "adm-007")
    def must_be_described_in_pages(self, node):
        """Page after page, each as long as allowed, until all that was asked for is returned, in the order of names."""
        rng, wire = self.rng, self.wire
        names = sorted({*rng.sample(sorted(self.there), 2), *rng.sample(sorted(self.gone), min(1, len(self.gone)))})
        limit = rng.randint(1, 6)
        wanted = [
            (name, index) for name in names for index in (range(self.there[name]) if name in self.there else [-1])
        ]
        asked = {
            "topics": [{"name": name} for name in rng.sample(names, len(names))],
            "response_partition_limit": limit,
        }

        def check():
            found: list[tuple[str, int]] = []
            cursor = page = None
            for _ in range(40):
                page = wire.ask(request("DescribeTopicPartitions", cursor=cursor, **asked), to=node)
                listed = 0
                for row in page.struct.topics:
                    code = 0 if row.name in self.there else errors.UNKNOWN_TOPIC_OR_PARTITION
                    page.must(
                        row.error_code == code,
                        f"{row.name} is returned with the error code {row.error_code}; it must be {code}",
                    )
                    found += [(row.name, part.partition_index) for part in row.partitions] or [(row.name, -1)]
                    listed += len(row.partitions)
                cursor = page.struct.next_cursor
                page.must(listed == limit or (cursor is None and listed < limit), f"a page has {listed} of {limit}")
                if cursor is None:
                    break
                cursor = {"topic_name": cursor.topic_name, "partition_index": cursor.partition_index}
            wire.must(found == wanted, f"all pages list {found}; they must list {wanted}", page)

        wire.eventually(check, within=WITHIN_S)


def _shown(row, version):
    """What a version returns of a topic: error code, id (v10), internal (v1), each partition with all its fields."""
    parts = sorted(
        (
            part.partition_index,
            part.error_code,
            part.leader_id,
            part.leader_epoch if version >= 7 else None,
            tuple(part.replica_nodes),
            tuple(sorted(part.isr_nodes)),
            tuple(part.offline_replicas) if version >= 5 else None,
        )
        for part in row.partitions
    )
    return (
        row.error_code,
        str(row.topic_id) if version >= 10 else None,
        row.is_internal if version >= 1 else False,
        parts,
    )
