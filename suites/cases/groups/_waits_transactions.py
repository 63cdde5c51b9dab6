"""Transactions that wait at their coordinator, or at that of a group, when its log goes to another node."""

from typing import Any

from brokertrial.suites.cases.groups._waits_at import AGAIN, WITHIN_S, AtCoordinator
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CHANGED = (*AGAIN, errors.CONCURRENT_TRANSACTIONS)
WAYS = ("commit", "abort", "init", "add", "offsets")


class TransactionThatWaits(AtCoordinator):
    """A transactional id: what it is asked for before its coordinator goes, and how its transaction ends."""

    def __init__(self, world, name, group, topic, hows):
        super().__init__(world, name)
        self.group, self.offsets_of, self.hows = group, topic, [*hows]
        self.producer = self.wire.producer(name, timeout_ms=60_000)
        self.committed, self.number = -1, 0

    def prepares(self):
        self.number += 1
        self.how = self.hows.pop(0)
        self.topic, self.more = self.world.data(f"d{self.number}"), None
        self.value = f"{self.number} of {self.name}"
        self.producer.send(self.topic, self.value).must_succeed()
        if self.how == "add":
            self.more = self.world.data(f"m{self.number}")
        if self.how == "offsets":
            who = (self.name, self.producer.id, self.producer.epoch, self.group)
            self.wire.add_offsets(*who).must_succeed()

    def asks(self):
        one, kind = self.producer, self.world.of_transactions
        who = {"producer_id": one.id, "producer_epoch": one.epoch}
        line = self.world.pipeline(f"{self.name} {self.number}", kind=kind)
        if self.how in ("commit", "abort"):
            newest = self.wire.versions("EndTxn")[-1]
            end = newest if self.wire.transaction_version >= 2 else min(4, newest)
            asked = request("EndTxn", transactional_id=self.name, committed=self.how == "commit", **who)
            self.waiter = self.ask(line, asked, *CHANGED, since=end if end > 4 else 0, up_to=end)
        elif self.how == "init":
            asked = request("InitProducerId", transactional_id=self.name, transaction_timeout_ms=60_000)
            self.waiter = self.ask(line, asked, *CHANGED)
        elif self.how == "add":
            asked = request(
                "AddPartitionsToTxn",
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=one.id,
                v3_and_below_producer_epoch=one.epoch,
                v3_and_below_topics=[{"name": self.more, "partitions": [0]}],
            )
            self.waiter = self.ask(line, asked, *CHANGED, up_to=3)
        else:
            parts = [{"partition_index": 0, "committed_offset": self.number, "committed_metadata": ""}]
            asked = request(
                "TxnOffsetCommit",
                transactional_id=self.name,
                group_id=self.group,
                generation_id_or_member_epoch=-1,
                topics=[{"name": self.offsets_of, "partitions": parts}],
                **who,
            )
            line = self.world.pipeline(f"{self.name} offsets {self.number}")
            self.waiter = self.ask(line, asked, *CHANGED, since=3, up_to=4)

    @breaks("txn-021")
    def goes_on(self):
        """What is refused is asked again; then it ends, and all of it is committed, or nothing."""
        one, done = self.producer, self.waiter.acknowledged
        commits = self.how != "abort"
        if self.how in ("commit", "abort"):
            told: Any = self.waiter.response.struct if done else None
            if done and self.waiter.version >= 5:
                one._take(told.producer_id, told.producer_epoch)
            elif not done:
                (one.commit if commits else one.abort)().must_succeed()
            one._in_transaction.clear()
        elif self.how == "init":
            commits = False
            self._begins_anew(done)
        else:
            self._goes_on_with(done)
            one.commit().must_succeed()
        for topic in filter(None, (self.topic, self.more)):
            self.wire.await_settled(topic, within=WITHIN_S)
            log = self.wire.read_all(topic, isolation=COMMITTED)
            with breaks("txn-011" if commits else "txn-002"):
                log.must_hold(*([self.value] if commits else []))
        if self.how == "offsets":
            self.committed = self.number
        with breaks("txn-012"):
            self.wire.eventually(
                lambda: self.wire.committed(self.group, self.offsets_of).must_be(self.committed), within=WITHIN_S
            )

    @breaks("txn-021")
    def _goes_on_with(self, done):
        one = self.producer
        if self.how == "add":
            if not done:
                one.add(self.more).must_succeed()
            one._in_transaction.add((self.more, 0))
            one.send(self.more, self.value).must_succeed()
        elif not done:
            offsets = {(self.offsets_of, 0): self.number}
            by_hand = min(4, self.wire.versions("TxnOffsetCommit")[-1])  # the offsets were added before
            who = (self.name, one.id, one.epoch, self.group)
            self.wire.txn_offset_commit(*who, offsets, version=by_hand).must_succeed()

    @breaks("txn-021", "txn-007")
    def _begins_anew(self, done):
        one, before = self.producer, (self.producer.id, self.producer.epoch)
        if done:
            told = self.waiter.response.struct
            one._in_transaction.clear()
            one._take(told.producer_id, told.producer_epoch)
        else:
            one.start()
        now = (one.id, one.epoch)
        self.wire.must(now[0] != before[0] or now[1] > before[1], f"its id and epoch are {now}; they were {before}")
        self.wire.end_txn(self.name, *before, commit=True).must_be_refused()
