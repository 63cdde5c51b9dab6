"""DescribeLogDirs, drawn: the partitions, the size of each, the total and usable bytes (KIP-113, KIP-827)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

WITH_ROOM, WITHIN_S, NOT_KNOWN, SLACK = 4, 20, -1, 1 << 16


@case(
    "admin/log-folders-asked-for-in-any-way",
    guarantees=["adm-018"],
    apis={"DescribeLogDirs": 1},
    needs=["partitions"],
    detects=["H15", "H16"],
)
def each_partition_is_described_with_its_own_size(wire, topic_of, rng):
    """DescribeLogDirs MUST return each requested partition that the node holds, once, with its own size and without a
    lag once it is in sync, and no other: for some partitions, for one named twice, for none and for all (null). The
    usable bytes of a folder, from v4 on, MUST NOT exceed its total bytes.

    Records of very different sizes in up to five partitions, 25 drawn requests at every node.
    """
    counts = {topic_of(partitions=count, what=f"t{count}"): count for count in (2, 3)}
    folders = DescribedFolders(wire, counts, rng)
    for _ in range(25):
        if rng.random() < 0.5:
            folders.write()
        folders.ask()


class DescribedFolders:
    """How many bytes were written to each partition."""

    def __init__(self, wire, counts, rng):
        self.wire, self.counts, self.rng = wire, counts, rng
        self.bytes = {(name, index): 0 for name, count in counts.items() for index in range(count)}

    def write(self):
        name, index = self.rng.choice(sorted(self.bytes))
        made = batch(self.rng.randbytes(self.rng.choice((100, 10_000, 100_000, 300_000))))
        self.wire.produce(name, made, index).must_succeed()
        self.bytes[name, index] += len(made)

    def ask(self):
        rng, wire = self.rng, self.wire
        node = rng.choice(wire.nodes)
        version = rng.choice(list(wire.versions("DescribeLogDirs")))
        names = rng.sample([*self.counts, wire.name("absent")], rng.randint(0, 3))
        rows = [
            {"topic": name, "partitions": [rng.choice((0, 0, 1, 2, 9, -1)) for _ in range(rng.randint(0, 4))]}
            for name in names
        ]
        rows = rng.choice((rows, rows, rows, None))
        named = {(row["topic"], index) for row in rows or () for index in row["partitions"]}
        wanted = set(self.bytes) if rows is None else named & set(self.bytes)

        def check():
            answer = wire.ask(request("DescribeLogDirs", topics=rows), version=version, to=node).must_succeed()
            self._must_fit(answer, self._held_by(node) & wanted, rows is None)

        wire.eventually(check, within=WITHIN_S)

    def _held_by(self, node):
        answer = self.wire.metadata(*self.counts, to=node).must_succeed()
        return {
            (topic.name, part.partition_index)
            for topic in answer.struct.topics
            for part in topic.partitions
            if node in part.replica_nodes
        }

    def _must_fit(self, answer, wanted, everything):
        found: dict[tuple[str, int], int] = {}
        folders = [folder.log_dir for folder in answer.struct.results]
        answer.must(len(set(folders)) == len(folders), f"a folder is reported twice: {folders}", "results")
        for folder in answer.struct.results:
            answer.must(folder.error_code == 0, f"a folder has error {folder.error_code}", "results")
            if answer.version >= WITH_ROOM:
                room = folder.usable_bytes, folder.total_bytes
                fits = room == (NOT_KNOWN, NOT_KNOWN) or 0 <= room[0] <= room[1] > 0
                answer.must(fits, f"of {room[1]} bytes in all {room[0]} are free", "results")
            for topic in folder.topics:
                for part in topic.partitions:
                    one = topic.name, part.partition_index
                    answer.must(one not in found, f"{_named(one)} is reported twice", "results")
                    answer.must(
                        not part.is_future_key, f"{_named(one)} is reported as moving to another folder", "results"
                    )
                    answer.must(
                        part.offset_lag == 0, f"{_named(one)} is reported with a lag of {part.offset_lag}", "results"
                    )
                    found[one] = part.partition_size
        others = sorted(set(found) - wanted) if not everything else []
        missing = sorted(wanted - set(found))
        answer.must(
            not missing and not others, f"it leaves out {_all(missing)}; it should not name {_all(others)}", "results"
        )
        for one in sorted(wanted):
            least, size = self.bytes[one], found[one]
            fits = least <= size <= 2 * least + SLACK
            answer.must(fits, f"{_named(one)} has {least} bytes of batches; its reported size is {size}", "results")


def _named(place):
    return "{}-{}".format(*place)


def _all(places):
    return ", ".join(map(_named, places)) or "nothing"
