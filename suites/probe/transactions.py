"""Producer ids and transactions, request by request. `wire.producer(...)` drives them as a client does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.coordinated import Coordinated, RetryOptions, SendOptions
from brokertrial.suites.probe.core import COORDINATOR_BUSY, LEADER_UNSETTLED
from brokertrial.wire.messages import ZERO_UUID, request


class Identity(Response):
    """A producer id and epoch: InitProducerId, and EndTxn from v5."""

    places = ("error_code",)

    @property
    def producer_id(self) -> int:
        return int(self.must_succeed().at("producer_id"))

    @property
    def epoch(self) -> int:
        return int(self.must_succeed().at("producer_epoch"))


class TransactionsFamily(Coordinated):
    """`wire.init_producer_id()`, `wire.add_partitions(...)`, `wire.end_txn(...)`"""

    def init_producer_id(
        self,
        transactional_id: str | None = None,
        *,
        timeout_ms: int = 30_000,
        producer_id: int = -1,
        epoch: int = -1,
        to: int | None = None,
        retry: bool = True,
        **how: Unpack[SendOptions],
    ) -> Identity:
        """InitProducerId: of the transaction coordinator, or of any node for a producer that is only idempotent."""
        asked = request(
            "InitProducerId",
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        step = "producer-id" if transactional_id is None else "transactional-id"
        if how.get("version") is not None or producer_id >= 0 or to is not None:
            step = ""
        if transactional_id is None or to is not None:
            return self.ask_as(Identity, asked, to=to, retry_on=COORDINATOR_BUSY if retry else (), step=step, **how)
        return self._of_transaction(transactional_id, asked, Identity, step, retry=retry, **how)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: Sequence[tuple[str, int]],
        **how: Unpack[RetryOptions],
    ) -> Response:
        """AddPartitionsToTxn as clients send it (v0 to v3; later versions are between brokers)."""
        rows = [
            {"name": name, "partitions": [i for t, i in partitions if t == name]}
            for name in dict.fromkeys(topic for topic, _ in partitions)
        ]
        asked = request(
            "AddPartitionsToTxn",
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=rows,
        )
        step = "" if how.get("version") is not None else "transaction"
        if how.get("version") is None:
            how["version"] = min(3, max(self.versions("AddPartitionsToTxn"), default=3))
        return self._of_transaction(transactional_id, asked, Response, step, **how)

    def add_offsets(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        group: str,
        **how: Unpack[RetryOptions],
    ) -> Response:
        """AddOffsetsToTxn."""
        asked = request(
            "AddOffsetsToTxn",
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=group,
        )
        return self._of_transaction(transactional_id, asked, Response, **how)

    def txn_offset_commit(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        group: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        metadata: str | None = "",
        generation: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
        **how: Unpack[RetryOptions],
    ) -> Response:
        """TxnOffsetCommit, which goes to the group's coordinator. Up to v4 the offsets must be added first."""
        chosen = how.get("version")
        how["version"] = chosen = self._offset_commit_version() if chosen is None else chosen
        asked = request(
            "TxnOffsetCommit",
            transactional_id=transactional_id,
            group_id=group,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[
                {
                    "name": name,
                    "topic_id": self.topic_id(name) if chosen >= 6 else ZERO_UUID,
                    "partitions": [
                        {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}
                        for (topic, index), offset in offsets.items()
                        if topic == name
                    ],
                }
                for name in dict.fromkeys(topic for topic, _ in offsets)
            ],
        )
        return self._of_group(group, asked, Response, **how)

    def end_txn(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        *,
        commit: bool,
        **how: Unpack[RetryOptions],
    ) -> Identity:
        """EndTxn. v5 (transaction.version 2) answers with the producer's next epoch."""
        asked = request(
            "EndTxn", transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=commit
        )
        step = "" if how.get("version") is not None else "transaction"
        if how.get("version") is None:
            how["version"] = self._end_version()
        return self._of_transaction(transactional_id, asked, Identity, step, **how)

    def describe_transaction(self, transactional_id: str, *, via: str = "main") -> Response:
        """DescribeTransactions of one; the row is `.struct.transaction_states[0]`."""
        asked = request("DescribeTransactions", transactional_ids=[transactional_id])
        return self._of_transaction(transactional_id, asked, Response, via=via)

    def list_transactions(self, transactional_id: str, *, states: Sequence[str] = (), via: str = "main") -> Response:
        """ListTransactions of the coordinator of one."""
        asked = request("ListTransactions", state_filters=list(states))
        return self._of_transaction(transactional_id, asked, Response, via=via)

    def describe_producers(self, topic: str, partition: int = 0, *, via: str = "main") -> Response:
        """DescribeProducers of one partition; the row is `.struct.topics[0].partitions[0]`."""
        asked = request("DescribeProducers", topics=[{"name": topic, "partition_indexes": [partition]}])
        return self.ask(
            asked,
            to=lambda: self.leader(topic, partition),
            via=via,
            retry_on=LEADER_UNSETTLED if partition in self.known_partitions(topic) else (),
            refresh=lambda: self.refresh_metadata(topic),
        )

    @property
    def transaction_version(self) -> int:
        """The finalized transaction.version: 2 bumps the epoch with each transaction (KIP-890 part 2)."""
        return self.features.get("transaction.version", 0)

    def _end_version(self) -> int | None:
        """EndTxn v5 is for producers of transaction.version 2 alone."""
        served = self.versions("EndTxn")
        return None if self.transaction_version >= 2 or not served else min(4, served[-1])

    def _offset_commit_version(self) -> int:
        served = self.versions("TxnOffsetCommit")
        newest = served[-1] if served else 4
        return newest if self.transaction_version >= 2 else min(4, newest)
