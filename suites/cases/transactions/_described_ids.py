"""How transactional ids are described and listed, with all that is known of each."""

from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S = 10
LONG_MS = 3_600_000
OFFSETS_TOPIC = "__consumer_offsets"
STATES = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")
BUSY = (errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE)


class DescribedIds:
    """The ids as they must be: state, id, epoch, timeout, partitions and start."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng, self.unknown = wire, topic, rng, {}
        self.all = []

    @breaks("txn-026")
    def must_be_described(self, one):
        """All fields of one id; an unknown and an empty one are answered beside it, in the order asked."""
        unknown = self._unknown_beside(one)
        asked = request("DescribeTransactions", transactional_ids=[one.name, unknown, "", one.name])

        def check():
            answer = self.wire.ask(asked, to=lambda: self.wire.coordinator(one.name, 1))
            rows = answer.struct.transaction_states
            codes = [row.error_code for row in rows]
            answer.must(
                codes == [0, errors.TRANSACTIONAL_ID_NOT_FOUND, errors.INVALID_REQUEST, 0],
                f"the error codes are {codes}",
            )
            for row in (rows[0], rows[3]):
                self._must_fit(answer, one, row)

        self.wire.eventually(check, within=WITHIN_S)
        self._producers_must_be_described(one)

    def _must_fit(self, answer, one, row):
        found = (row.transaction_state, row.producer_id, row.producer_epoch, row.transaction_timeout_ms)
        wanted = (one.state, one.id, one.epoch, one.timeout_ms)
        answer.must(found == wanted, f"{one.name} has state, id, epoch and timeout {found}; they must be {wanted}")
        held = {each.topic: set(each.partitions) for each in row.topics}
        if OFFSETS_TOPIC in one.held and len(held.get(OFFSETS_TOPIC, ())) == 1:
            one.held[OFFSETS_TOPIC] = one.held[OFFSETS_TOPIC] or held[OFFSETS_TOPIC]
        answer.must(held == one.held, f"{one.name} holds {held}; it must hold {one.held}")
        start = row.transaction_start_time_ms
        if one.start is None:
            if one.state == "Empty":  # up to 4.0.1 that of the last one stays
                answer.must(start in (-1, one.before), f"{one.name} is empty and began at {start}")
            else:
                answer.must(not one.later or start > one.before, f"{one.name} began at {start}, as the one before it")
            one.start = start
        answer.must(start == one.start, f"{one.name} began at {start}; it began at {one.start}")

    @breaks("txn-026")
    def _producers_must_be_described(self, one):
        """Where its open transaction wrote: its epoch and its newest sequence."""
        for partition, count in one.sequences.items() if one.state == "Ongoing" else ():
            answer = self.wire.describe_producers(self.topic, partition).must_succeed()
            rows = {
                row.producer_id: (row.producer_epoch, row.last_sequence, row.current_txn_start_offset >= 0)
                for row in answer.at("topics[0].partitions[0].active_producers")
            }
            found, wanted = rows.get(one.id), (one.epoch, count - 1, True)
            answer.must(found == wanted, f"epoch, sequence, openness of {one.name} are {found}; they must be {wanted}")

    def must_be_listed(self):
        """A drawn question: of states, of producer ids, of a duration, of a pattern, or of several of them at once."""
        rng, version = self.rng, self._version("ListTransactions", 0, 2)
        states = rng.sample(STATES, rng.choice((0, 1, 2))) + rng.choice(([], [], ["Nonsense"]))
        producers = [one.id for one in rng.sample(self.all, rng.choice((0, 0, 1, 2)))]
        longer_ms = rng.choice((-1, LONG_MS)) if version >= 1 else -1
        named = rng.sample(self.all, rng.choice((0, 1, 2))) if version >= 2 else []
        self._must_list(version, states, producers, longer_ms, named)

    def must_be_listed_by_two_filters(self):
        """Each id by itself, at any age and at one that no transaction has, in any state and while it is empty."""
        version = max(self.wire.versions("ListTransactions"))
        for one in self.all:
            for longer_ms in (-1, LONG_MS) if version >= 1 else (-1,):
                for states in ([], ["Empty"]):
                    self._must_list(version, states, [one.id], longer_ms, [])

    @breaks("txn-026")
    def _must_list(self, version, states, producers, longer_ms, named):
        asked = {"state_filters": states, "producer_id_filters": producers}
        if version >= 1:
            asked["duration_filter"] = longer_ms
        if version >= 2:
            asked["transactional_id_pattern"] = "|".join(one.name for one in named) or None
        answers = [
            self.wire.ask(request("ListTransactions", **asked), to=node, version=version, retry_on=BUSY).must_succeed()
            for node in self.wire.nodes
        ]
        ours = {one.name for one in self.all}
        found = sorted(
            (row.transactional_id, row.producer_id, row.transaction_state)
            for answer in answers
            for row in answer.struct.transaction_states
            if row.transactional_id in ours
        )
        wanted = sorted(
            (one.name, one.id, one.state)
            for one in self.all
            if (not states or one.state in states)
            and (not producers or one.id in producers)
            and (longer_ms < 0 or one.start == -1)
            and (not named or one in named)
        )
        self.wire.must(found == wanted, f"v{version} with {asked} lists {found}; it must list {wanted}", *answers)
        for answer in answers:
            answer.must_have("unknown_state_filters", [name for name in states if name not in STATES])

    def _version(self, api, lowest, newest):
        return self.rng.choice([each for each in self.wire.versions(api) if lowest <= each <= newest])

    def _unknown_beside(self, one):
        """A name that was never used, of the same coordinator."""
        node = self.wire.coordinator(one.name, 1)
        if node not in self.unknown:
            names = (self.wire.name(f"unknown{number}") for number in range(60))
            self.unknown[node] = next(name for name in names if self.wire.coordinator(name, 1) == node)
        return self.unknown[node]
