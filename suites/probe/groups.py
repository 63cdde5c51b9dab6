"""Groups: the classic protocol, KIP-848, committed offsets, and the questions about groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from suites.probe.answer import Answer
from suites.probe.core import COORDINATOR_BUSY, Core
from wire.messages import request

G = TypeVar("G", bound=Answer)
Partitions = Mapping[tuple[str, int], int]


class Joined(Answer):
    """A JoinGroup answer."""

    places = ("error_code",)

    @property
    def member_id(self) -> str:
        """The id that the broker gave, also beside MEMBER_ID_REQUIRED."""
        return str(self.struct.member_id)

    @property
    def generation(self) -> int:
        return int(self.must_succeed().at("generation_id"))

    @property
    def leader(self) -> str:
        return str(self.must_succeed().at("leader"))

    @property
    def protocol(self) -> str | None:
        return self.must_succeed().at("protocol_name")  # type: ignore[no-any-return]

    @property
    def members(self) -> dict[str, bytes]:
        """Member id -> metadata; only the leader is told."""
        return {row.member_id: bytes(row.metadata) for row in self.must_succeed().at("members")}


class Synced(Answer):
    """A SyncGroup answer."""

    places = ("error_code",)

    @property
    def assignment(self) -> bytes:
        return bytes(self.must_succeed().at("assignment"))

    def must_bring(self, assignment: bytes) -> Self:
        """The member's assignment must be these bytes, unchanged."""
        self.must_succeed()
        return self.must(
            self.assignment == assignment,
            f"the assignment is {self.assignment!r}; it must be {assignment!r}",
            "assignment",
        )


class Committed(Answer):
    """An OffsetFetch answer; `of(topic, partition)` is one partition of it."""

    @property
    def _topics_path(self) -> str:
        return "groups[0].topics" if self.version >= 8 else "topics"

    def _errors(self) -> list[tuple[str, int]]:
        struct = self.asked.wait()
        where = "groups[0].error_code" if self.version >= 8 else "error_code"
        code = struct.groups[0].error_code if self.version >= 8 and struct.groups else struct.error_code
        found = [(where, code)] if code else []
        return found or super()._errors()

    @property
    def offsets(self) -> dict[tuple[int | str, int], int]:
        """(topic, partition) -> offset for every partition of the answer; a topic known by id only goes by its id."""
        self.must_succeed()
        return {
            (self._name(row), part.partition_index): part.committed_offset
            for row in self.at(self._topics_path)
            for part in row.partitions
        }

    @property
    def offset(self) -> int:
        """The offset of the one partition that was asked for; -1 when nothing is committed."""
        return int(self._row()[1].committed_offset)

    def must_be(self, offset: int, *, metadata: str | None = None, leader_epoch: int | None = None) -> Self:
        """The one partition that was asked for must have this committed offset (metadata, epoch); -1: none."""
        self.must_succeed()
        path, _ = self._row()
        self.must_have(f"{path}.committed_offset", offset)
        if metadata is not None:
            self.must_have(f"{path}.metadata", metadata)
        if leader_epoch is not None:
            self.must_have(f"{path}.committed_leader_epoch", leader_epoch)
        return self

    def _row(self) -> tuple[str, Any]:
        self.must_succeed()
        topics = self.at(self._topics_path)
        if len(topics) != 1 or len(topics[0].partitions) != 1:
            self.is_false(
                f"it names {len(topics)} topics; it must name the one partition that was asked for", self._topics_path
            )
        return f"{self._topics_path}[0].partitions[0]", topics[0].partitions[0]

    def _name(self, row: Any) -> Any:
        if self.version < 10:
            return row.name
        asked = self.asked.request.groups[0].topics or []
        return next((topic.name for topic in asked if topic.topic_id == row.topic_id), str(row.topic_id))


class GroupsFamily(Core):
    """`wire.join_group(group)`, `wire.commit(group, topic, offset=5)`, `wire.committed(group, topic).must_be(5)`"""

    # the classic protocol

    def join_group(
        self,
        group: str,
        *,
        member_id: str = "",
        protocols: Sequence[tuple[str, bytes]] = (("range", b""),),
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Joined:
        """JoinGroup once, as it is: see `wire.member` for one that joins as clients do.

        It blocks until the rebalance ends: with other members about, give each its own `via` and `wait=False`.
        """
        asked = request(
            "JoinGroup",
            group_id=group,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[{"name": name, "metadata": metadata} for name, metadata in protocols],
        )
        return self._of_group(group, asked, Joined, version, via, wait, retry, rebalance_timeout_ms / 1000 + 10)

    def sync_group(
        self,
        group: str,
        generation: int,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
        instance_id: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Synced:
        """SyncGroup; the leader gives `assignments` (member id -> bytes). It blocks until the leader has done so."""
        asked = request(
            "SyncGroup",
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=[{"member_id": name, "assignment": data} for name, data in (assignments or {}).items()],
        )
        return self._of_group(group, asked, Synced, version, via, wait, retry, 20)

    def heartbeat(
        self,
        group: str,
        generation: int,
        member_id: str,
        *,
        instance_id: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Answer:
        asked = request(
            "Heartbeat", group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return self._of_group(group, asked, Answer, version, via, wait, retry)

    def leave_group(
        self,
        group: str,
        *member_ids: str,
        instance_ids: Sequence[str] = (),
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Answer:
        """Leaves for one member, or (v3+) for several; per-member codes are in `.struct.members`."""
        members = [{"member_id": name} for name in member_ids]
        members += [{"member_id": "", "group_instance_id": name} for name in instance_ids]
        asked = request("LeaveGroup", group_id=group, member_id=member_ids[0] if member_ids else "", members=members)
        return self._of_group(group, asked, Answer, version, via, wait, retry)

    # KIP-848

    def consumer_group_heartbeat(
        self,
        group: str,
        member_id: str,
        epoch: int,
        *,
        topics: Sequence[str] | None = None,
        owned: Mapping[str, Sequence[int]] | None = None,
        instance_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        assignor: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Answer:
        """ConsumerGroupHeartbeat; `owned` is topic name -> partitions, None leaves the field out ("unchanged")."""
        asked = request(
            "ConsumerGroupHeartbeat",
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rebalance_timeout_ms=rebalance_timeout_ms,
            server_assignor=assignor,
            subscribed_topic_names=None if topics is None else list(topics),
            topic_partitions=None
            if owned is None
            else [{"topic_id": self.topic_id(name), "partitions": list(parts)} for name, parts in owned.items()],
        )
        return self._of_group(group, asked, Answer, version, via, wait, retry)

    # committed offsets

    def commit(
        self,
        group: str,
        topic: str,
        partition: int = 0,
        *,
        offset: int,
        metadata: str | None = "",
        leader_epoch: int = -1,
        generation: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Answer:
        """OffsetCommit of one partition; without member and generation as a client outside any group does."""
        return self.commit_all(
            group,
            {(topic, partition): offset},
            metadata=metadata,
            leader_epoch=leader_epoch,
            generation=generation,
            member_id=member_id,
            instance_id=instance_id,
            version=version,
            via=via,
            wait=wait,
            retry=retry,
        )

    def commit_all(
        self,
        group: str,
        offsets: Partitions,
        *,
        metadata: str | None = "",
        leader_epoch: int = -1,
        generation: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Answer:
        """OffsetCommit of several partitions: {(topic, partition): offset}."""
        asked = request(
            "OffsetCommit",
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=self._commit_rows(offsets, metadata, leader_epoch),
        )
        if version is None:
            version = self.by_name("OffsetCommit", [topic for topic, _ in offsets], 9)
        return self._of_group(group, asked, Answer, version, via, wait, retry)

    def committed(
        self,
        group: str,
        topic: str,
        partition: int = 0,
        *,
        require_stable: bool = False,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Committed:
        """OffsetFetch of one partition."""
        return self.committed_all(
            group, [(topic, partition)], require_stable=require_stable, version=version, via=via, wait=wait, retry=retry
        )

    def committed_all(
        self,
        group: str,
        partitions: Sequence[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Committed:
        """OffsetFetch of several partitions; None asks for all that the group has."""
        plain = ids = None
        if partitions is not None:
            names = list(dict.fromkeys(topic for topic, _ in partitions))
            plain = [
                {"name": name, "partition_indexes": [index for topic, index in partitions if topic == name]}
                for name in names
            ]
            version = self.by_name("OffsetFetch", names, 9) if version is None else version
            ids = [{**row, "topic_id": self.topic_id(name)} for name, row in zip(names, plain, strict=True)]
        asked = request(
            "OffsetFetch",
            group_id=group,
            topics=plain,
            require_stable=require_stable,
            groups=[{"group_id": group, "topics": ids}],
        )
        return self._of_group(group, asked, Committed, version, via, wait, retry)

    def delete_offsets(
        self, group: str, partitions: Sequence[tuple[str, int]], *, via: str = "main", retry: bool = True
    ) -> Answer:
        """OffsetDelete; per-partition codes are in `.struct.topics`."""
        rows = [
            {"name": name, "partitions": [{"partition_index": i} for t, i in partitions if t == name]}
            for name in dict.fromkeys(topic for topic, _ in partitions)
        ]
        return self._of_group(
            group, request("OffsetDelete", group_id=group, topics=rows), Answer, None, via, True, retry
        )

    # questions

    def find_coordinator(
        self, key: str, kind: str = "group", *, to: int | None = None, version: int | None = None, via: str = "main"
    ) -> Answer:
        """FindCoordinator of any node; kind is group, transaction or share."""
        number = {"group": 0, "transaction": 1, "share": 2}[kind]
        return self.ask(
            request("FindCoordinator", key=key, key_type=number, coordinator_keys=[key]),
            version=version,
            to=to,
            via=via,
            retry_on=COORDINATOR_BUSY,
        )

    def describe_group(
        self, group: str, *, version: int | None = None, via: str = "main", retry: bool = True
    ) -> Answer:
        """DescribeGroups of one; the row is `.struct.groups[0]`."""
        return self._of_group(group, request("DescribeGroups", groups=[group]), Answer, version, via, True, retry)

    def list_groups(
        self, *, to: int | None = None, states: Sequence[str] = (), version: int | None = None, via: str = "main"
    ) -> Answer:
        """ListGroups of one node (each knows only the groups that it coordinates)."""
        return self.ask(request("ListGroups", states_filter=list(states)), to=to, version=version, via=via)

    def delete_groups(self, *groups: str, version: int | None = None, via: str = "main", retry: bool = True) -> Answer:
        """DeleteGroups, asked of the coordinator of the first; per-group codes are in `.struct.results`."""
        return self._of_group(
            groups[0], request("DeleteGroups", groups_names=list(groups)), Answer, version, via, True, retry
        )

    # how they are asked

    def _of_group(
        self,
        group: str,
        asked: Any,
        kind: type[G],
        version: int | None,
        via: str,
        wait: bool,
        retry: bool,
        may_take_s: float = 0.0,
    ) -> G:
        if group and group not in self.made_groups:
            self.made_groups.append(group)
        return self.ask_as(
            kind,
            asked,
            version=version,
            to=lambda: self.coordinator(group),
            via=via,
            wait=wait,
            may_take_s=may_take_s,
            retry_on=COORDINATOR_BUSY if retry else (),
            refresh=lambda: self.forget_coordinator(group),
        )

    def _commit_rows(self, offsets: Partitions, metadata: str | None, leader_epoch: int) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "topic_id": self.topic_id(name),
                "partitions": [
                    {
                        "partition_index": index,
                        "committed_offset": offset,
                        "committed_leader_epoch": leader_epoch,
                        "committed_metadata": metadata,
                    }
                    for (topic, index), offset in offsets.items()
                    if topic == name
                ],
            }
            for name in dict.fromkeys(topic for topic, _ in offsets)
        ]
