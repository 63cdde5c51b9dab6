"""Topics to work with: made by request, or on use where that is not offered, and waited for on every node."""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.suites.probe.admin import AdminFamily
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import END_UNSETTLED
from brokertrial.suites.probe.failures import NoResponse, NotApplicable, Unclear
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NO_PERMISSION = (errors.TOPIC_AUTHORIZATION_FAILED, errors.CLUSTER_AUTHORIZATION_FAILED)
READY_S = 30.0
AGREE_S = 5.0


class TopicsFamily(AdminFamily):
    """`wire.new_topic(partitions=3)`"""

    agreed: Mapping[str, str] = {}
    """Topic settings that this cluster is known to accept."""

    def new_topic(
        self,
        what: str = "t",
        *,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: int | None = None,
        more_will_do: bool = False,
    ) -> str:
        """A topic of our own, known to every node; what the broker will not do makes the case not applicable.

        `more_will_do`: where topics appear on use only, one with more partitions is as good.
        """
        topic = self.name(what)
        self.will_make(self.made_topics, topic)
        with self.situation.suspended():
            with self.on_the_way("topic"):
                self._make(topic, partitions, self.situation.topic_settings(configs or {}), replicas, more_will_do)
            self.situation.topic_made(topic, partitions)
        return topic

    def _make(
        self, topic: str, partitions: int, configs: Mapping[str, str], replicas: int | None, more_will_do: bool
    ) -> None:
        if not self._created(topic, partitions, configs, replicas):
            if configs or (partitions != 1 and not more_will_do):
                wanted = "a topic setting" if configs else f"{partitions} partitions"
                raise NotApplicable("missing-capability", f"topics appear on use only: {wanted} cannot be chosen")
            self._create_on_use(topic)
            if (found := len(self._metadata(topic).topics[0].partitions)) < partitions:
                raise NotApplicable(
                    "missing-capability", f"topics appear on use only, with {found} partitions: {partitions} are needed"
                )
        self.await_topic(topic)

    def await_topic(self, topic: str) -> None:
        """Waits until every node knows the topic, not one of its name that was deleted, and each partition has a leader
        that serves it."""
        again = ", which was made again, by another id," if topic in self.deleted_topics else ""
        self.until(
            lambda: all(self._knows(node, topic) for node in self.nodes),
            within=READY_S,
            what=f"every node knows topic {topic}{again} with its leaders and in-sync replicas",
        )
        self.refresh_metadata(topic)
        for partition in self.known_partitions(topic):
            self._wait_for_leader(topic, partition)

    def await_deleted(self) -> None:
        """Waits a moment until all nodes say the same of the topics that were deleted: gone, or made again.

        What they do not agree on then is no accusation; whoever looks at these topics next finds it out.
        """
        if not self.deleted_topics or len(self.nodes) < 2:
            return  # nothing is asked, and no clock is read: stored cases hold neither
        began, wait_s = self._exchanger.clock()[0], AGREE_S + self.slack_s
        while True:
            agreed = all(len({self._id_on(node, topic) for node in self.nodes}) == 1 for topic in self.deleted_topics)
            if agreed or self._exchanger.clock()[0] - began > wait_s * 1e9:
                return
            self.rest(0.05)

    def _id_on(self, node: int, topic: str) -> object:
        try:
            row = self.metadata(topic, to=node, via="agreement").struct.topics[0]
        except NoResponse:
            return None
        return None if row.error_code else row.topic_id

    def _created(self, topic: str, partitions: int, configs: Mapping[str, str], replicas: int | None) -> bool:
        if not self.versions("CreateTopics"):
            return False
        refused: Response | None = None
        for factor in [min(3, len(self.nodes)), -1] if replicas is None else [replicas]:
            answer = self.create_topic(topic, partitions=partitions, replicas=factor, configs=configs)
            if answer.error in (0, errors.TOPIC_ALREADY_EXISTS):
                return True
            if self._may_refuse(answer.error):
                return False
            if answer.error == errors.INVALID_CONFIG and any(self.agreed.get(key) != configs[key] for key in configs):
                message = answer.struct.topics[0].error_message
                raise NotApplicable("unsupported", f"the broker refuses the topic settings {dict(configs)}: {message}")
            refused = answer
            if answer.error != errors.INVALID_REPLICATION_FACTOR:
                answer.must_succeed()
        if refused is not None and replicas is None:
            refused.must_succeed()
        raise NotApplicable("unsupported", f"the broker refuses topics with {replicas} replicas")

    def _may_refuse(self, code: int) -> bool:
        """Whether the cluster may refuse this client every topic: for want of permission, or by a stated policy."""
        if code == errors.POLICY_VIOLATION:
            return self.case_context.topic_policy
        return code in NO_PERMISSION and "topics" not in self.case_context.required

    def _create_on_use(self, topic: str) -> None:
        def appeared() -> bool:
            rows = self._metadata(topic, create=True).topics
            return bool(rows) and rows[0].error_code == 0 and bool(rows[0].partitions)

        self.until(appeared, within=READY_S, what=f"topic {topic} appears on first use")

    def _knows(self, node: int, topic: str) -> bool:
        rows = [row for row in self._metadata(topic, node=node).topics if row.name == topic and row.error_code == 0]
        return (
            bool(rows)
            and rows[0].topic_id not in self._deleted_ids  # a node may still show what was deleted
            and len(rows[0].partitions) >= max(1, self._grown.get(rows[0].topic_id, 1))
            and all(
                part.error_code == 0 and part.leader_id >= 0 and len(part.isr_nodes) >= len(part.replica_nodes)
                for part in rows[0].partitions
            )
        )

    def must_be_validated_only(self, topic: str, *, to: int | None = None) -> None:
        """A topic that CreateTopics was to validate, and not to make."""
        with self.on_the_way("validation"):
            answer = self.metadata(topic, to=to)
            code = answer.struct.topics[0].error_code
            absent = code == errors.UNKNOWN_TOPIC_OR_PARTITION
            found = f"{topic} was to be validated only, and is there: Metadata answers {errors.name(code)}"
            answer.must(absent, found, "topics[0].error_code")

    def _wait_for_leader(self, topic: str, partition: int) -> None:
        asked = request(
            "ListOffsets",
            replica_id=-1,
            timeout_ms=10_000,
            topics=[{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -1}]}],
        )
        self.ask(
            asked,
            to=lambda: self.leader(topic, partition),
            retry_on=END_UNSETTLED,
            refresh=lambda: self.refresh_metadata(topic),
            step="ends",
        ).must_succeed()

    def led_together(self, topic: str, count: int) -> list[int]:
        """So many partitions of a topic that one node leads; make `count * len(wire.nodes)` to be sure of them."""
        by_leader: dict[int, list[int]] = {}
        for partition in sorted(self.known_partitions(topic)):
            led = by_leader.setdefault(self.leader(topic, partition), [])
            led.append(partition)
            if len(led) == count:
                return led
        raise Unclear("suite", f"no node leads {count} partitions of {topic}")
