"""Reads what passes: batches and what became of them, leaders, coordinators, group memberships. Also puts our
addresses in."""

import fnmatch
import re
from collections.abc import Iterable, Iterator
from typing import Any

from brokertrial.faults.channel import Setup
from brokertrial.faults.proxy import address_rewriting
from brokertrial.faults.proxy.commit_observer import OFFSET_COMMIT, CommitObserver
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse, UndecodableMessage
from brokertrial.faults.proxy.follow_up import SentBatch
from brokertrial.faults.proxy.membership_observer import MembershipObserver
from brokertrial.faults.proxy.observed_cluster import ObservedCluster
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Batch
from brokertrial.wire.records import RecordsMalformed, batches

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS = 0, 1, 3, 10, 18
_GROUP_APIS = frozenset({13, 14, 68})
"""LeaveGroup, SyncGroup, ConsumerGroupHeartbeat."""
_OBSERVED_APIS = _GROUP_APIS | {OFFSET_COMMIT}


class Observer:
    """Looks at every message that it `wants`, and at every Produce."""

    def __init__(
        self, setup: Setup, facts: ObservedCluster, outbox: Outbox, place: address_rewriting.MapAddress
    ) -> None:
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
        return address_rewriting.carries_addresses(key, version) or key == API_VERSIONS or key in _OBSERVED_APIS

    def saw_produce(self, request: ProxiedRequest) -> tuple[tuple[SentBatch, ...], bool]:
        """Takes in a Produce request: its batches, and whether it will be answered (not with acks=0)."""
        body = request.body_if_readable()
        if body is None:
            return (), True
        sent = tuple(self._batches(body)) if self._records_topic is not None else ()
        if body.acks != 0:
            return sent, True
        self.unanswered(request, sent)
        return sent, False

    def saw_response(self, response: ProxiedResponse, batches: tuple[SentBatch, ...]) -> ProxiedResponse:
        """Takes in a response; the one that the client shall have: one that cannot be decoded passes as it is, and is
        reported."""
        request = response.request
        if not (batches or self.wants(request.key, request.version)):
            return response
        try:
            body = response.decoded()
        except UndecodableMessage as problem:
            self._outbox.event(
                "unreadable-answer", node=request.node, client=request.client, fields={"why": str(problem)}
            )
            self.unanswered(request, batches)
            return response
        self._learn(request, body, batches)
        if not self._changed(request, body):
            return response
        try:
            return response.replaced(body)
        except ValueError:
            self._outbox.own_error(node=request.node)
            return response

    def unanswered(self, request: ProxiedRequest, batches: Iterable[SentBatch]) -> None:
        """What became of these batches will not be known."""
        for sent in batches:
            self._report_batch(request, sent, None)

    def _changed(self, request: ProxiedRequest, body: Any) -> bool:
        key, version = request.key, request.version
        if key == API_VERSIONS:
            return address_rewriting.cap_versions(body)
        if not address_rewriting.carries_addresses(key, version) or not self._rewrites:
            return False
        return address_rewriting.rewrite_addresses(body, key, version, self._place, self._strips)

    def _learn(self, request: ProxiedRequest, body: Any, batches: tuple[SentBatch, ...]) -> None:
        facts = self._facts
        if request.key == METADATA:
            for topic, partition, leader, epoch in facts.saw_metadata(body):
                self._report_leader(topic, partition, leader, epoch)
        elif request.key == FIND_COORDINATOR:
            for kind, name, node in facts.saw_coordinators(request.body, body, request.version):
                fields = {"kind": kind, "key": name}
                self._outbox.event("coordinator", node=node, group=name if kind == 0 else None, fields=fields)
        elif request.key == PRODUCE:
            self._learn_from_produce(request, body, batches)
        elif request.key in _GROUP_APIS:
            self.memberships.saw(request, body)
        elif request.key == OFFSET_COMMIT:
            self._commits.saw(request, body)

    def _learn_from_produce(self, request: ProxiedRequest, body: Any, batches: tuple[SentBatch, ...]) -> None:
        facts = self._facts
        outcome = {}
        for topic in body.responses:
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
        for sent in batches:
            self._report_batch(request, sent, outcome.get((sent.topic, sent.partition)))

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

    def _report_batch(self, request: ProxiedRequest, sent: SentBatch, outcome: Any) -> None:
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
                node=request.node,
                client=request.client,
                request_ns=request.at_ns,
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
