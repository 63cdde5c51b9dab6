"""DescribeTopicPartitions, drawn: from any place on, in pages of any length, of some topics or of all (KIP-966)."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.probe.internal_topics import partitions_if_shown
from brokertrial.wire import errors
from brokertrial.wire.messages import request

INVALID, NOT_ASKED, WITHIN_S, PAGES, MOST = ("no spaces", "nor/slashes", "n" * 250, ".."), -(1 << 31), 20, 1_000, 1_000
INTERNAL = "__consumer_offsets"
UNKNOWN = errors.UNKNOWN_TOPIC_OR_PARTITION


@case(
    "protocol/topics-in-pages-of-any-kind",
    guarantees=["prot-015", "adm-001", "adm-006"],
    apis={"DescribeTopicPartitions": 0, "Metadata": 10},
    needs=["partitions"],
    detects=["H19", "H20", "H21", "W18"],
)
def pages_return_what_metadata_does(wire, topic_of, rng):
    """DescribeTopicPartitions MUST return the topics that it is asked for, each once and in the order of their names,
    starting at its cursor, with what Metadata returns of them: error, id, whether it is internal, leaders, epochs,
    replicas. A page MUST hold as many partitions as the limit allows, at least one, and a cursor as long as there are
    more. A cursor before the first partition, or at a topic that is not asked for, MUST be refused (42).

    Topics are deleted and created again between 50 drawn walks; of all topics only those of the case are compared.
    """
    pages = WalkedPages(wire, [topic_of(partitions=count, what=f"t{count}") for count in (1, 2, 5)], rng)
    for _ in range(50):
        if rng.random() < 0.15:
            pages.delete_and_make()
        pages.walk()
        if rng.random() < 0.4:
            pages.walk_from_nowhere()


class WalkedPages:
    """Topics that there are, and one that comes and goes."""

    def __init__(self, wire, topics, rng):
        self.wire, self.rng, self.topics = wire, rng, topics
        self.guest, self.here = wire.name("guest"), False
        self.absent = wire.name("absent")
        wire.coordinator(wire.name("g"))  # which makes the internal topic
        partitions_if_shown(wire, INTERNAL)

    def delete_and_make(self):
        if self.here:
            self.wire.delete_topic(self.guest).must_succeed()
        else:
            self.wire.create_topic(self.guest, partitions=self.rng.choice((1, 3))).must_succeed()
            self.wire.await_topic(self.guest)
        self.here = not self.here

    def _names(self):
        return sorted({*self.topics, self.guest, self.absent})

    def _drawn(self):
        known = [*self._names(), INTERNAL, *INVALID[:2]]
        return self.rng.sample(known, self.rng.randint(1, len(known)))

    def walk(self):
        """All pages, one after the other."""
        rng = self.rng
        node, limit = rng.choice(self.wire.nodes), rng.choice((-1, 0, 1, 1, 2, 3, 4, 7, 1_000_000))
        everything = rng.random() < 0.2
        names = [] if everything else self._drawn()
        asked = [*names, *rng.sample(names, min(1, len(names)))] if rng.random() < 0.2 else names
        first = rng.choice(sorted(names) or [*self.topics, self.guest, self.absent])
        start = (first, rng.choice((0, 0, 1, 2, 5, 99))) if everything or rng.random() < 0.5 else None
        limit = MOST if everything else limit

        def check():
            every = self.wire.metadata(all_topics=True, to=node).must_succeed()
            rows = {row.name: row for row in every.struct.topics}
            found, last = self._pages(node, asked, limit, start)
            names_ = [name for name in self._ours(rows) if not start or name >= start[0]] if everything else names
            wanted = self._wanted(rows, names_, start)
            if everything:
                found = [each for each in found if each[0] in self._ours(rows)]
            wrong = next(
                (pair for pair in zip([*found, None], [*wanted, None], strict=False) if pair[0] != pair[1]), None
            )
            last.must(
                found == wanted, f"from {start} on it names {wrong and wrong[0]}; it must name {wrong and wrong[1]}"
            )

        self.wire.eventually(check, within=WITHIN_S)

    def _ours(self, rows):
        return sorted(name for name in self._names() if name in rows)

    def _pages(self, node, names, limit, start):
        """(name, error, id, internal, partition) of each row, of a topic without partitions one row with none."""
        found: list[tuple[object, ...]] = []
        cursor = start and {"topic_name": start[0], "partition_index": start[1]}
        most = max(limit, 1)
        for _ in range(PAGES):
            page = self._page(node, names, limit, cursor)
            cursor, listed, topics = page.struct.next_cursor, 0, [row.name for row in page.struct.topics]
            page.must(
                topics == sorted(set(topics)), f"the topics of a page are {topics}, which is not in order", "topics"
            )
            for row in page.struct.topics:
                reported = row.topic_authorized_operations != NOT_ASKED
                page.must(reported or row.error_code, f"what may be done on {row.name} is not reported", "topics")
                shown = (row.name, row.error_code, str(row.topic_id), row.is_internal)
                found += [(*shown, _shown(part)) for part in row.partitions] or [(*shown, None)]
                listed += len(row.partitions)
                self._must_be_candidates(page, row)
            right = listed == most if cursor is not None and most <= MOST else listed <= most
            page.must(right, f"a page has {listed} partitions of {most}, {'more' if cursor else 'no more'} to come")
            if cursor is None:
                break
            cursor = {"topic_name": cursor.topic_name, "partition_index": cursor.partition_index}
        return found, page  # type: ignore[possibly-undefined]

    def _must_be_candidates(self, page, row):
        for part in row.partitions:
            others = set(part.eligible_leader_replicas or ())
            fits = others <= set(part.replica_nodes) and not others & set(part.isr_nodes)
            page.must(fits, f"{row.name}-{part.partition_index} has {others} as eligible leaders", "topics")

    def _page(self, node, names, limit, cursor):
        asked = request(
            "DescribeTopicPartitions",
            topics=[{"name": name} for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        answer = self.wire.ask(asked, to=node)
        answer.examined = True
        return answer

    def _wanted(self, rows, names, start):
        wanted: list[tuple[object, ...]] = []
        for name in sorted(names):
            if start and name < start[0]:
                continue
            if name not in rows:
                code = errors.INVALID_TOPIC_EXCEPTION if name in INVALID else UNKNOWN
                wanted.append((name, code, str(UUID(int=0)), False, None))
                continue
            row = rows[name]
            first = start[1] if start and name == start[0] else 0
            shown = (name, 0, str(row.topic_id), row.is_internal)
            parts = sorted((_shown(part) for part in row.partitions), key=lambda part: part[0])
            wanted += [(*shown, part) for part in parts if part[0] >= first] or [(*shown, None)]
        return wanted

    def walk_from_nowhere(self):
        """A cursor that cannot be."""
        rng, names = self.rng, self._drawn()
        lost = {"topic_name": rng.choice(names), "partition_index": -rng.randint(1, 9)}
        if rng.random() < 0.5 and self.absent not in names:
            lost = {"topic_name": self.absent, "partition_index": 0}
        answer = self._page(rng.choice(self.wire.nodes), names, rng.choice((1, 10)), lost)
        codes = sorted({row.error_code for row in answer.struct.topics})
        answer.must(
            codes == [errors.INVALID_REQUEST], f"from {lost} on: error codes {codes}; they must be 42", "topics"
        )
        listed = [row.name for row in answer.struct.topics if row.partitions]
        answer.must(not listed, f"from {lost} on it names partitions of {listed}", "topics")


def _shown(part):
    return (
        part.partition_index,
        part.error_code if part.leader_id >= 0 else 0,
        part.leader_id,
        part.leader_epoch,
        tuple(part.replica_nodes),
        tuple(sorted(part.isr_nodes)),
        tuple(part.offline_replicas),
    )
