"""What the answers to requests that waited may say, by what has happened to their partitions meanwhile."""

from brokertrial.suites.cases.replication._waiters import DELETED, ELECTED, MOVES, SHRUNK, STRICT, WHOLE
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.fetch import Fetched
from brokertrial.wire import errors

GONE_CODES = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID, errors.NOT_LEADER_OR_FOLLOWER)
MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)
TOO_FEW = errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
NAMES_LEADERS = {"Produce": 10, "Fetch": 16}
FROM_FOLLOWERS = 11
PROMPT_S, SURELY_S = 6, 1
WAITS = {"Produce": "prod-010", "Fetch": "fetch-008", "DeleteRecords": "adm-011"}
"""What is broken where such a request is not answered in its time, or with what has not happened."""


class WaitsJudge:
    """What is known of the partitions, and what it makes of each answer."""

    def __init__(self, wire, cut):
        self.wire, self.cut_node = wire, cut
        self.cut = self.out = self.healed = self.ended = False
        self.in_sync_until_ms = 0
        """Until then nobody can have been left out of the replicas in sync."""
        self.strict_holds = False
        self.doubtful = []

    # when an answer is due

    def is_due(self, waiter):
        """Whether what it waits for has come about."""
        if waiter.api == "Fetch":
            return any(self._ends_a_fetch(waiter, part) for part in waiter.rows)
        if waiter.api in ("Produce", "DeleteRecords"):
            return all(self._is_decided(waiter, part) for part in waiter.rows)
        return True

    def _is_decided(self, waiter, part):
        if part.fate == WHOLE or self.healed:
            return True
        if waiter.api == "DeleteRecords":
            return False  # Kafka has no more to say of it before its time is over
        if part.happened and part.fate in (*MOVES, SHRUNK, *DELETED) and waiter.node == part.first:
            return True
        return self.out and part.fate != STRICT

    def _ends_a_fetch(self, waiter, part):
        if part.happened and part.fate in DELETED:
            return True
        if part.happened and part.fate == ELECTED and waiter.node == part.first:
            return waiter.version < FROM_FOLLOWERS or waiter.epochs or self._has_news(waiter, part)
        if part.happened and part.fate == SHRUNK and waiter.epochs:
            return True
        return part.is_taken_from(waiter.node) or self._has_news(waiter, part)

    def _has_news(self, waiter, part):
        """Whether there are records to be returned."""
        there = self.healed if part.fate == STRICT else self.out and part.fate not in DELETED
        if not there or (waiter.committed and part.stable and not self.ended):
            return False
        return self.healed or waiter.node not in part.lacking(self.cut_node)

    # what it may say

    def judge(self, waiter):
        """An answer that has come."""
        each = {"Produce": self._produced, "Fetch": self._fetched, "DeleteRecords": self._deleted}
        if waiter.api in each:
            each[waiter.api](waiter, self.wire.now_ms())
        else:
            waiter.response.must_succeed()

    def _codes(self, waiter, part, now_ms):
        """The errors that it may be refused with by now."""
        codes = set()
        if part.happened and part.fate in DELETED:
            codes |= {*GONE_CODES}
        if (part.happened and part.fate in MOVES and waiter.node == part.first) or part.is_taken_from(waiter.node):
            codes.add(errors.NOT_LEADER_OR_FOLLOWER)
            codes |= {errors.FENCED_LEADER_EPOCH} if waiter.epochs else set()
        if part.is_taken_from(waiter.node) and waiter.api == "DeleteRecords":
            codes.add(errors.UNKNOWN_TOPIC_OR_PARTITION)  # DelayedDeleteRecords
        if part.happened and part.fate == SHRUNK and waiter.epochs:
            codes.add(errors.FENCED_LEADER_EPOCH)
        if waiter.api == "Fetch" or part.fate == WHOLE:
            return codes
        if waiter.late(now_ms):
            codes.add(errors.REQUEST_TIMED_OUT)
        if waiter.api == "Produce" and part.fate == STRICT and part.happened:
            codes |= {TOO_FEW, *([errors.NOT_ENOUGH_REPLICAS] if waiter.behind else [])}
        return codes

    def _must_be_among(self, waiter, part, row, path, now_ms):
        """An error, which must be one of these, and name who leads now where it can."""
        codes = self._codes(waiter, part, now_ms)
        words = " or ".join(errors.name(code) for code in sorted(codes)) or "no error"
        moved = waiter.api == "Produce" and {row.error_code, *codes} & {errors.NOT_LEADER_OR_FOLLOWER}
        with breaks("prod-009" if moved else WAITS[waiter.api]):
            waiter.response.must(
                row.error_code in codes,
                f"{self._said(part)} is answered {errors.name(row.error_code)} ({row.error_code}); it must be {words}",
                f"{path}.error_code",
            )
        if part.fate in MOVES and row.error_code in MOVED and waiter.version >= NAMES_LEADERS.get(waiter.api, 99):
            named = row.current_leader.leader_id
            listed = [one.node_id for one in waiter.response.struct.node_endpoints]
            with breaks("repl-018"):
                waiter.response.must(
                    named in part.next_leaders and named in listed,
                    f"{self._said(part)} is led by node {part.next_leaders[-1:]}; it names node {named} of {listed}",
                    f"{path}.current_leader.leader_id",
                )

    def _said(self, part):
        what = {"stays": "which stays", "whole": "whose replicas have all", "strict": "whose settings change"}
        word = what.get(part.fate, f"which {'was' if part.happened else 'is to be'} {part.fate}")
        return f"{part.place[0]}-{part.place[1]}, {word},"

    def _produced(self, waiter, now_ms):
        for part, row, path in waiter.answers():
            if row.error_code:
                self._must_be_among(waiter, part, row, path, now_ms)
                continue
            write = waiter.rows[part]
            write.offset = part.acked[write.value] = row.base_offset
            self._must_be_everywhere(waiter, part, path, "is acknowledged")

    @breaks("repl-004", "repl-010")
    def _must_be_everywhere(self, waiter, part, path, what):
        """What some replica in sync lacks is neither acknowledged nor shown."""
        lacking = part.lacking(self.cut_node)
        if not self.cut or not lacking:
            return
        sentence = f"{self._said(part)} {what}, and node {lacking[0]}, a replica in sync, lacks it"
        surely = self.wire.now_ms() < self.in_sync_until_ms or part.sure
        waiter.response.must(not surely, sentence, f"{path}.error_code")
        strict = part.fate == STRICT and self.strict_holds and what == "is acknowledged"
        few = f"{self._said(part)} {what} while fewer replicas are in sync than min.insync.replicas"
        waiter.response.must(not strict, few, f"{path}.error_code")
        if part.fate not in DELETED:
            self.doubtful.append((waiter, part, path, sentence))

    @breaks("repl-004", "repl-010")
    def clears_doubts(self):
        """Whoever was acknowledged too early is found out: the replica that lacks it is in sync still."""
        if not self.doubtful:
            return
        self.wire.rest(SURELY_S)
        for waiter, part, path, sentence in self.doubtful:
            in_sync = shown(self.wire, part).isr_nodes
            waiter.response.must(not {*part.lacking(self.cut_node)} & {*in_sync}, sentence, f"{path}.error_code")
        self.doubtful = []

    @breaks("fetch-008")
    def _fetched(self, waiter, now_ms):
        failed = held = False
        whole = waiter.response.struct.error_code
        waiter.response.must(not whole, f"it is refused with {errors.name(whole)}", "error_code")
        for part, row, path in waiter.answers():
            position = waiter.rows[part][0]
            if row.error_code:
                failed = True
                self._must_be_among(waiter, part, row, path, now_ms)
                continue
            found = {record.offset: record.value for record in Fetched(waiter.response.asked, path).records}
            found = {offset: value for offset, value in found.items() if offset >= position}
            held = held or bool(found) or bool(row.records)
            hidden = waiter.committed and part.stable and not self.ended
            with breaks("txn-004"):
                said = f"{self._said(part)} returns {found}, in a transaction that is open"
                waiter.response.must(not (hidden and found), said, path)
            for offset, value in found.items():
                known = part.read.setdefault(offset, value)
                with breaks("repl-010"):
                    said = f"{self._said(part)} has {value!r} at {offset}, where {known!r} was read"
                    waiter.response.must(known == value, said, path)
            if found:
                self._must_be_everywhere(waiter, part, path, f"returns offsets {[*found]}")
            with breaks("fetch-010"):
                waiter.response.must(
                    row.high_watermark >= position,
                    f"{self._said(part)} has the high watermark {row.high_watermark}; it was {position} or more",
                    f"{path}.high_watermark",
                )
        waiter.response.must(
            failed or held or waiter.late(now_ms),
            f"it is answered with nothing after {now_ms - waiter.sent_ms} ms; it must wait for {waiter.wait_ms} ms",
            "responses",
        )

    @breaks("adm-011")
    def _deleted(self, waiter, now_ms):
        for part, row, path in waiter.answers():
            if row.error_code:
                self._must_be_among(waiter, part, row, path, now_ms)
                continue
            front, lacking = waiter.rows[part], part.lacking(self.cut_node)
            waiter.response.must(
                not (self.cut and lacking),
                f"{self._said(part)} is answered as deleted below {front}; node {lacking[:1]}, which is alive, has all",
                f"{path}.error_code",
            )
            waiter.response.must(
                row.low_watermark in part.cuts and row.low_watermark >= front,
                f"{self._said(part)} is deleted below {front}, and begins at {row.low_watermark}",
                f"{path}.low_watermark",
            )
            part.cut_to = max(part.cut_to, front)


def shown(wire, part, node=None):
    """What a node, its leader where none is named, shows of a partition."""
    topic, index = part.place
    rows = wire.metadata(topic, to=part.leader if node is None else node).struct.topics[0].partitions
    return next((row for row in rows if row.partition_index == index), None)


def kept(part):
    """Whether it is there at the end."""
    return part.fate not in DELETED
