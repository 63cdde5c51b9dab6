"""Committed offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.coordinated import Coordinated, RetryOptions
from brokertrial.wire.messages import request

Partitions = Mapping[tuple[str, int], int]


class CommitAs(RetryOptions, total=False):
    """Who commits, and what beside the offset."""

    metadata: str | None
    leader_epoch: int
    generation: int
    member_id: str
    instance_id: str | None


class Committed(Response):
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
        told = (topic.name for topic in asked if topic.topic_id == row.topic_id and topic.name)
        return next(told, str(row.topic_id))


class CommitsFamily(Coordinated):
    """`wire.commit(group, topic, offset=5)`, `wire.committed(group, topic).must_be(5)`"""

    def commit(
        self, group: str, topic: str, partition: int = 0, *, offset: int, **as_whom: Unpack[CommitAs]
    ) -> Response:
        """OffsetCommit of one partition; without member and generation as a client outside any group does."""
        return self.commit_all(group, {(topic, partition): offset}, **as_whom)

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
        **how: Unpack[RetryOptions],
    ) -> Response:
        """OffsetCommit of several partitions: {(topic, partition): offset}."""
        asked = request(
            "OffsetCommit",
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=self._commit_rows(offsets, metadata, leader_epoch),
        )
        step = "commit" if how.get("version") is None and generation < 0 and leader_epoch < 0 else ""
        if how.get("version") is None:
            how["version"] = self.by_name("OffsetCommit", [topic for topic, _ in offsets], 9)
        return self._of_group(group, asked, Response, step=step, **how)

    def committed(
        self,
        group: str,
        topic: str,
        partition: int = 0,
        *,
        require_stable: bool = False,
        **how: Unpack[RetryOptions],
    ) -> Committed:
        """OffsetFetch of one partition."""
        return self.committed_all(group, [(topic, partition)], require_stable=require_stable, **how)

    def committed_all(
        self,
        group: str,
        partitions: Sequence[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
        **how: Unpack[RetryOptions],
    ) -> Committed:
        """OffsetFetch of several partitions; None asks for all that the group has."""
        plain = ids = None
        step = "" if require_stable or how.get("version") is not None else "committed"
        if partitions is None:
            step = "all-committed"
        if partitions is not None:
            names = list(dict.fromkeys(topic for topic, _ in partitions))
            plain = [
                {"name": name, "partition_indexes": [index for topic, index in partitions if topic == name]}
                for name in names
            ]
            if how.get("version") is None:
                how["version"] = self.by_name("OffsetFetch", names, 9)
            ids = [{**row, "topic_id": self.topic_id(name)} for name, row in zip(names, plain, strict=True)]
        asked = request(
            "OffsetFetch",
            group_id=group,
            topics=plain,
            require_stable=require_stable,
            groups=[{"group_id": group, "topics": ids}],
        )
        return self._of_group(group, asked, Committed, step=step, **how)

    def delete_offsets(
        self, group: str, partitions: Sequence[tuple[str, int]], **how: Unpack[RetryOptions]
    ) -> Response:
        """OffsetDelete; per-partition codes are in `.struct.topics`."""
        rows = [
            {"name": name, "partitions": [{"partition_index": i} for t, i in partitions if t == name]}
            for name in dict.fromkeys(topic for topic, _ in partitions)
        ]
        return self._of_group(group, request("OffsetDelete", group_id=group, topics=rows), Response, **how)

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
