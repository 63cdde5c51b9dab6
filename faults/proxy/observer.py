"""Reads what passes: batches and what became of them, leaders, coordinators, group memberships. Also puts our
addresses in."""

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from brokertrial.faults.channel import Setup
from brokertrial.faults.proxy import address_rewriting
from brokertrial.faults.proxy.commit_observer import OFFSET_COMMIT, CommitObserver
from brokertrial.faults.proxy.exchange import ProxiedExchange, UndecodableMessage
from brokertrial.faults.proxy.membership_observer import MembershipObserver
from brokertrial.faults.proxy.observed_cluster import ObservedCluster
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Batch
from brokertrial.wire.records import RecordsMalformed, batches

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS = 0, 1, 3, 10, 18
_GROUP_APIS = frozenset({13, 14, 68})
"""LeaveGroup, SyncGroup, ConsumerGroupHeartbeat."""
_TOLD_APIS = _GROUP_APIS | {OFFSET_COMMIT}
Place = Callable[[int, str, int], tuple[str, int]]
"""Where clients shall go for a node that advertises this host and port."""


@dataclass(slots=True)
class SentBatch:
    """One batch of a Produce request: all that its row needs but the answer."""

    topic: str
    partition: int
    header: Any

    def identity(self) -> dict[str, object]:
        """What names it on the wire: a checker tells the broker's duplicates from the client's by it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "producer_id": self.header.producer_id,
            "producer_epoch": self.header.producer_epoch,
            "base_sequence": self.header.base_sequence,
        }


class Observer:
    """Looks at every message that it `wants`, and at every Produce."""

    def __init__(self, setup: Setup, facts: ObservedCluster, outbox: Outbox, place: Place) -> None:
        self._facts = facts
        self._outbox = outbox
        self._place = place
        patterns = setup.record
        self._everything = "*" in patterns
        self._records_topic = re.compile("|".join(fnmatch.translate(p) for p in patterns)).match if patterns else None
        self.memberships = MembershipObserver(facts, outbox.add)
        self._commits = CommitObserver(facts, self._is_recorded, outbox.add)
        self._rewrites = setup.addresses != "leak"
        self._strips = setup.addresses == "strip"

    def wants(self, key: int, version: int) -> bool:
        """Whether the answer to this request must be looked at."""
        return address_rewriting.carries_addresses(key, version) or key == API_VERSIONS or key in _TOLD_APIS

    def saw_produce(self, message: ProxiedExchange) -> bool:
        """Takes in a Produce request; whether nobody will answer it (acks=0)."""
        try:
            request = message.request
        except UndecodableMessage:
            return False
        if self._records_topic is not None:
            message.batches = list(self._batches(request))
        if request.acks == 0:
            for sent in message.batches:
                self._tell(message, sent, None)
            message.batches_reported = True
        return bool(request.acks == 0)

    def saw_answer(self, message: ProxiedExchange) -> None:
        """Takes in an answer, and rewrites what it must; an answer that cannot be read passes as it is, and is told
        of."""
        if not (message.batches or self.wants(message.key, message.version)):
            return
        try:
            answer = message.answer
        except UndecodableMessage as problem:
            self._outbox.event(
                "unreadable-answer", node=message.node, client=message.client, fields={"why": str(problem)}
            )
            return
        self._learn(message, answer)
        if self._changed(message, answer):
            message.answer_is_edited = True

    def unanswered(self, message: ProxiedExchange) -> None:
        """The connection ended before this request was answered."""
        for sent in () if message.batches_reported else message.batches:
            self._tell(message, sent, None)

    def _changed(self, message: ProxiedExchange, answer: Any) -> bool:
        key, version = message.key, message.version
        if key == API_VERSIONS:
            return address_rewriting.cap_versions(answer)
        if not address_rewriting.carries_addresses(key, version) or not self._rewrites:
            return False
        return address_rewriting.rewrite_addresses(answer, key, version, self._place, self._strips)

    def _learn(self, message: ProxiedExchange, answer: Any) -> None:
        facts = self._facts
        if message.key == METADATA:
            for topic, partition, leader, epoch in facts.saw_metadata(answer):
                self._report_leader(topic, partition, leader, epoch)
        elif message.key == FIND_COORDINATOR:
            for kind, name, node in facts.saw_coordinators(message.request, answer, message.version):
                fields = {"kind": kind, "key": name}
                self._outbox.event("coordinator", node=node, group=name if kind == 0 else None, fields=fields)
        elif message.key == PRODUCE:
            self._learn_from_produce(message, answer)
        elif message.key in _GROUP_APIS:
            self.memberships.saw(message, answer)
        elif message.key == OFFSET_COMMIT:
            self._commits.saw(message, answer)

    def _learn_from_produce(self, message: ProxiedExchange, answer: Any) -> None:
        facts = self._facts
        outcome = {}
        for topic in answer.responses:
            name = topic.name or facts.topic_name(topic.topic_id)
            for part in topic.partition_responses:
                outcome[name, part.index] = part
                hint = part.current_leader
                if (
                    name
                    and hint.leader_id >= 0
                    and facts.saw_leader(name, part.index, hint.leader_id, hint.leader_epoch)
                ):
                    self._report_leader(name, part.index, hint.leader_id, hint.leader_epoch)
        for sent in message.batches:
            self._tell(message, sent, outcome.get((sent.topic, sent.partition)))
        message.batches_reported = True

    def _report_leader(self, topic: str, partition: int, leader: int, epoch: int) -> None:
        """A leader that is news."""
        epoch_known = epoch if epoch >= 0 else None
        self._outbox.event("leader", node=leader, topic=topic, partition=partition, leader_epoch=epoch_known)

    def _batches(self, request: Any) -> Iterator[SentBatch]:
        for topic in request.topic_data:
            name = topic.name or self._facts.topic_name(topic.topic_id) or str(topic.topic_id)
            if not self._is_recorded(name):
                continue
            for part in topic.partition_data:
                if part.records is not None:
                    for header in _headers(part.records):
                        yield SentBatch(name, part.index, header)

    def _is_recorded(self, topic: str) -> bool:
        return self._everything or bool(self._records_topic and self._records_topic(topic))

    def _tell(self, message: ProxiedExchange, sent: SentBatch, outcome: Any) -> None:
        header = sent.header
        good = outcome is not None and outcome.error_code == 0
        base = outcome.base_offset if good else -1
        self._outbox.add(
            Batch(
                topic=sent.topic,
                partition=sent.partition,
                base_offset=base,
                last_offset=base
                + header.last_offset_delta,  # so that it tells the count of records without an offset too
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
                error=outcome.error_code if outcome is not None else None,
                node=message.node,
                client=message.client,
                request_ns=message.at_ns,
                response_ns=now_ns() if outcome is not None else None,
                seen_at="produce",
            )
        )


def _headers(records: Any) -> Iterator[Any]:
    """The headers of the batches in record data; what is no batch of format 2 is left out."""
    try:
        for batch in batches(records):
            if batch.header.magic == 2:
                yield batch.header
    except (RecordsMalformed, ValueError):
        return
