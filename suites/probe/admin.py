"""Topics, settings, DeleteRecords, the cluster. What a case makes is removed when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import LEADER_UNSETTLED, OLD_METADATA_VERSION, Core
from brokertrial.suites.probe.failures import BrokerAtFault, NoResponse, NotApplicable, ProtocolBroken, StatementFalse
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request
from brokertrial.wire.structs import Struct

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
NAME_TAKEN = (errors.TOPIC_ALREADY_EXISTS,)
"""Of a topic that was just deleted: it "may take several seconds" until it is gone everywhere (Admin.deleteTopics)."""


FENCED_S = 3.0
OF_BROKERS = (errors.INVALID_REPLICATION_FACTOR, errors.INVALID_REPLICA_ASSIGNMENT)


WITHOUT_BROKERS = ("fenced", "larger than available brokers")
"""What Kafka's ReplicationControlManager says, and its AdminUtils with ZooKeeper."""


def _lacks_brokers(answer: Struct) -> bool:
    """Whether no topic could be placed because brokers are away, in Kafka's own words."""
    rows = [(row.error_code, row.error_message or "") for row in answer.topics]
    return bool(rows) and all(
        code in OF_BROKERS and any(words in said for words in WITHOUT_BROKERS) for code, said in rows
    )


class AdminFamily(Core):
    """`wire.create_topic(name)`, `wire.delete_records(topic, offset=5)`, `wire.configs_of_topic(topic)`"""

    settings_failed: BrokerAtFault | None = None
    """Why the settings of a broker could not be asked for."""

    # requests

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = -1,
        configs: Mapping[str, str] | None = None,
        assignments: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
    ) -> Response:
        """CreateTopics of one, as it is. With `assignments` give partitions=-1.

        Asked again for three seconds while brokers are said to be away: on a busy machine a heartbeat is late.
        """
        rows = [self.topic_row(topic, partitions, replicas, configs, assignments)]
        ask = partial(self.create_topics, rows, validate_only=validate_only, version=version, to=to, via=via, wait=wait)
        answer = ask()
        return self._once_they_are_back(ask, answer) if wait and _lacks_brokers(answer.asked.wait()) else answer

    def _once_they_are_back(self, ask: Callable[[], Response], answer: Response) -> Response:
        began = self._exchanger.clock()[0]
        while _lacks_brokers(answer.asked.wait()) and self._exchanger.clock()[0] - began < FENCED_S * 1e9:
            answer.examined = True
            self.rest(0.5)
            answer = ask()
        return answer

    def create_topics(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        validate_only: bool = False,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
    ) -> Response:
        """CreateTopics of several; rows from `topic_row`; per-topic codes are in `.struct.topics`."""
        self.will_make(self.made_topics, *(str(row["name"]) for row in rows))
        asked = request(
            "CreateTopics", topics=[dict(row) for row in rows], timeout_ms=20_000, validate_only=validate_only
        )
        plain = version is None and to is None and not validate_only
        made_again = wait and any(row["name"] in self.deleted_topics for row in rows)
        taken = NAME_TAKEN if made_again else ()
        return self._of_controller(asked, version, to, via, wait, "topic" if plain else "", taken)

    @staticmethod
    def topic_row(
        topic: str,
        partitions: int = 1,
        replicas: int = -1,
        configs: Mapping[str, str] | None = None,
        assignments: Mapping[int, Sequence[int]] | None = None,
    ) -> dict[str, Any]:
        """One topic of a CreateTopics request."""
        return {
            "name": topic,
            "num_partitions": partitions,
            "replication_factor": replicas,
            "assignments": [
                {"partition_index": index, "broker_ids": list(ids)} for index, ids in (assignments or {}).items()
            ],
            "configs": [{"name": name, "value": value} for name, value in (configs or {}).items()],
        }

    def delete_topic(self, *topics: str, version: int | None = None, to: int | None = None) -> Response:
        """DeleteTopics by name; per-topic codes are in `.struct.responses`."""
        asked = request(
            "DeleteTopics",
            topics=[{"name": name, "topic_id": ZERO_UUID} for name in topics],
            topic_names=list(topics),
            timeout_ms=20_000,
        )
        answer = self._of_controller(
            asked, version, to, step="topic-deletion" if version is None and to is None else ""
        )
        done = {row.name for row in answer.struct.responses if row.error_code == 0}
        for name in topics:
            view = self._topics.pop(name, None)
            if name in done and view is not None and view.topic_id != ZERO_UUID:
                self._deleted_ids.add(view.topic_id)
        self.deleted_topics.update(topics)
        return answer

    def create_partitions(
        self,
        topic: str,
        count: int,
        *,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
        version: int | None = None,
    ) -> Response:
        """CreatePartitions to a new total; the row is `.struct.results[0]`."""
        rows = None if assignments is None else [{"broker_ids": list(ids)} for ids in assignments]
        asked = request(
            "CreatePartitions",
            topics=[{"name": topic, "count": count, "assignments": rows}],
            timeout_ms=20_000,
            validate_only=validate_only,
        )
        answer = self._of_controller(asked, version, None)
        if not validate_only and [row.error_code for row in answer.asked.wait().results] == [errors.NONE]:
            self._grows(topic, count)
        return answer

    def _grows(self, topic: str, count: int) -> None:
        """Brokers may show so many partitions a moment later; `await_topic` waits for them."""
        if topic in self._topics and (topic_id := self._topics[topic].topic_id) != ZERO_UUID:
            self._grown[topic_id] = count

    def delete_records(
        self,
        topic: str,
        partition: int = 0,
        *,
        offset: int,
        version: int | None = None,
        retry: bool = True,
        timeout_ms: int = 20_000,
    ) -> Response:
        """DeleteRecords below an offset (-1: the high watermark); the row is `.struct.topics[0].partitions[0]`."""
        asked = request(
            "DeleteRecords",
            timeout_ms=timeout_ms,
            topics=[{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}],
        )
        settled = retry and partition in self.known_partitions(topic)
        return self.ask(
            asked,
            version=version,
            to=lambda: self.leader(topic, partition),
            may_take_s=20,
            retry_on=LEADER_UNSETTLED if settled else (),
            refresh=lambda: self.refresh_metadata(topic),
            step="record-deletion" if settled and version is None else "",
        )

    def metadata(
        self,
        *topics: str,
        all_topics: bool = False,
        create: bool = False,
        to: int | None = None,
        version: int | None = None,
        via: str = "main",
    ) -> Response:
        """Metadata of these topics; `all_topics` asks for every one (null, from v1).

        Only cases about the protocol ask a broker in a version that it was seen not to answer.
        """
        if version is None and self.metadata_version == OLD_METADATA_VERSION and not self.about_the_protocol:
            version = OLD_METADATA_VERSION
        rows = None if all_topics else [{"name": name} for name in topics]
        asked = request("Metadata", topics=rows, allow_auto_topic_creation=create)
        return self.ask(asked, version=version, to=to, via=via)

    def describe_cluster(self, *, to: int | None = None, version: int | None = None) -> Response:
        return self.ask(request("DescribeCluster"), to=to, version=version)

    def offset_for_leader_epoch(
        self,
        topic: str,
        partition: int = 0,
        *,
        epoch: int,
        current_epoch: int = -1,
        version: int | None = None,
        to: int | None = None,
    ) -> Response:
        """OffsetForLeaderEpoch; the row is `.struct.topics[0].partitions[0]`."""
        asked = request(
            "OffsetForLeaderEpoch",
            replica_id=-1,
            topics=[
                {
                    "topic": topic,
                    "partitions": [
                        {"partition": partition, "current_leader_epoch": current_epoch, "leader_epoch": epoch}
                    ],
                }
            ],
        )
        return self.ask(asked, version=version, to=(lambda: self.leader(topic, partition)) if to is None else to)

    # settings

    def describe_configs(
        self,
        kind: int,
        name: str,
        keys: Sequence[str] | None = None,
        *,
        synonyms: bool = False,
        version: int | None = None,
    ) -> Response:
        """DescribeConfigs of one resource (TOPIC, BROKER, GROUP); the row is `.struct.results[0]`."""
        asked = request(
            "DescribeConfigs",
            include_synonyms=synonyms,
            resources=[
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configuration_keys": None if keys is None else list(keys),
                }
            ],
        )
        node = int(name) if kind == BROKER and name else None
        return self.ask(asked, version=version, to=node, step="" if version is not None else "settings")

    def configs_of_topic(self, topic: str) -> dict[str, str | None]:
        """Every setting of a topic, by name."""
        answer = self.describe_configs(TOPIC, topic).must_succeed()
        return {row.name: row.value for row in answer.struct.results[0].configs}

    @property
    def consumer_session_ms(self) -> int | None:
        """The cluster's session timeout of KIP-848 members, where it is known."""
        return None

    def setting(self, name: str) -> str | None:
        """A setting of the brokers; None where the broker does not say, or cannot be asked.

        That it can be asked is for `admin/described-settings` to decide; who cannot do without says `needs_setting`.
        """
        if self.settings_failed or not self.versions("DescribeConfigs"):
            return None
        try:
            answer = self.describe_configs(BROKER, str(self.nodes[0]), [name])
        except (NoResponse, ProtocolBroken) as error:
            self.settings_failed = error
            return None
        if answer.error or not answer.struct.results:
            return None
        return next((row.value for row in answer.struct.results[0].configs if row.name == name), None)

    def needs_setting(self, name: str, *, at_most: int) -> None:
        """The case would last too long where a setting of the cluster is higher, or who knows how long where it is not
        told: then it is not applicable. Brokers that we started ourselves have it low, and must say so."""
        value = self.setting(name)
        if value is not None and not (value.lstrip("-").isdigit() and int(value) > at_most):
            return
        if value is None and (why := self.permissions.denied.get("DescribeConfigs of a broker")):
            raise NotApplicable("no-permission", f"no permission: {why}")
        if self.settings_failed is not None:
            raise self.settings_failed
        told = f"the brokers do not report {name}" if value is None else f"{name} is {value} on this cluster"
        if self.case_context.our_timers and name not in self.case_context.chosen and self.versions("DescribeConfigs"):
            raise StatementFalse(f"{told}, and they were started with at most {at_most}")
        raise NotApplicable("too-slow-here", f"{told}; the case needs at most {at_most}")

    def alter_configs(
        self, kind: int, name: str, configs: Mapping[str, str | None], *, validate_only: bool = False
    ) -> Response:
        """AlterConfigs: replaces the whole set."""
        asked = request(
            "AlterConfigs",
            validate_only=validate_only,
            resources=[
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configs": [{"name": key, "value": value} for key, value in configs.items()],
                }
            ],
        )
        return self._of_controller(asked, None, None)

    def change_configs(
        self,
        kind: int,
        name: str,
        changes: Sequence[tuple[str, int, str | None]],
        *,
        validate_only: bool = False,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
    ) -> Response:
        """IncrementalAlterConfigs: [(key, SET|DELETE|APPEND|SUBTRACT, value)]."""
        asked = request(
            "IncrementalAlterConfigs",
            validate_only=validate_only,
            resources=[
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configs": [{"name": key, "config_operation": how, "value": value} for key, how, value in changes],
                }
            ],
        )
        return self._of_controller(asked, None, to, via, wait)

    def _of_controller(
        self,
        asked: Any,
        version: int | None,
        to: int | None,
        via: str = "main",
        wait: bool = True,
        step: str = "",
        retry_on: tuple[int, ...] = (),
    ) -> Response:
        def search_again() -> None:
            self._controller = -1

        return self.ask(
            asked,
            version=version,
            to=self.controller if to is None else to,
            via=via,
            wait=wait,
            may_take_s=20,
            retry_on=(errors.NOT_CONTROLLER, *retry_on) if to is None else retry_on,
            refresh=search_again,
            step=step,
        )
