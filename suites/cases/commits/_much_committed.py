"""Groups whose coordinators have much to read: what was committed for each last."""

from brokertrial.suites.probe.coordinator_writes import make_coordinator_write

GROUPS, PARTITIONS = 6, 48


class MuchCommitted:
    """Some groups that commit all partitions of a topic, again and again."""

    def __init__(self, wire, topic):
        self.wire, self.topic = wire, topic
        self.times = {wire.name(f"g{number}"): 0 for number in range(GROUPS)}

    def commit(self, times):
        """All of them, so many times."""
        for _ in range(times):
            for group in self.times:
                self.commit_of(group)

    def commit_of(self, group):
        self.times[group] += 1
        self.wire.commit_all(group, self._offsets(group)).must_succeed()

    def must_be_returned(self, group):
        """What was committed last, also where a coordinator took over before it was asked."""
        make_coordinator_write(self.wire, group)
        answer = self.wire.committed_all(group, list(self._offsets(group))).must_succeed()
        found = {index: offset for (_, index), offset in answer.offsets.items()}
        due = {index: offset for (_, index), offset in self._offsets(group).items()}
        wrong = [index for index, offset in due.items() if found.get(index) != offset]
        one = next(iter(wrong), 0)
        answer.must(
            not wrong,
            f"{len(wrong)} partitions have another offset than was committed last: "
            f"partition {one} has {found.get(one)}; it must have {due[one]}",
        )

    def _offsets(self, group):
        return {(self.topic, index): 1_000 * self.times[group] + index for index in range(PARTITIONS)}
