"""Groups: the classic protocol, KIP-848, and the questions about groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, Unpack

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.coordinated import Coordinated, RetryOptions
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire.messages import request


class Joined(Response):
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


class Synced(Response):
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


class GroupsFamily(Coordinated):
    """`wire.join_group(group)`, `wire.describe_group(group)`"""

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
        **how: Unpack[RetryOptions],
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
        step = "" if how.get("version") is not None or instance_id is not None else "join"
        return self._of_group(group, asked, Joined, rebalance_timeout_ms / 1000 + 10, step, **how)

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
        **how: Unpack[RetryOptions],
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
        step = "" if how.get("version") is not None or instance_id is not None else "join"
        return self._of_group(group, asked, Synced, 20, step, **how)

    def heartbeat(
        self,
        group: str,
        generation: int,
        member_id: str,
        *,
        instance_id: str | None = None,
        **how: Unpack[RetryOptions],
    ) -> Response:
        asked = request(
            "Heartbeat", group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return self._of_group(group, asked, Response, **how)

    def leave_group(
        self,
        group: str,
        *member_ids: str,
        instance_ids: Sequence[str] = (),
        **how: Unpack[RetryOptions],
    ) -> Response:
        """Leaves for one member, or (v3+) for several; per-member codes are in `.struct.members`."""
        members = [{"member_id": name} for name in member_ids]
        members += [{"member_id": "", "group_instance_id": name} for name in instance_ids]
        asked = request("LeaveGroup", group_id=group, member_id=member_ids[0] if member_ids else "", members=members)
        return self._of_group(group, asked, Response, **how)

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
        regex: str | None = None,
        **how: Unpack[RetryOptions],
    ) -> Response:
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
            **({} if regex is None else {"subscribed_topic_regex": regex}),
            topic_partitions=None
            if owned is None
            else [{"topic_id": self.topic_id(name), "partitions": list(parts)} for name, parts in owned.items()],
        )
        step = "" if how.get("version") is not None or instance_id is not None else "consumer"
        return self._of_group(group, asked, Response, step=step, **how)

    # questions

    def find_coordinator(
        self, key: str, kind: str = "group", *, to: int | None = None, version: int | None = None, via: str = "main"
    ) -> Response:
        """FindCoordinator of any node; kind is group, transaction or share."""
        number = {"group": 0, "transaction": 1, "share": 2}[kind]
        return self.ask(
            request("FindCoordinator", key=key, key_type=number, coordinator_keys=[key]),
            version=version,
            to=to,
            via=via,
            retry_on=COORDINATOR_BUSY,
        )

    def describe_group(self, group: str, **how: Unpack[RetryOptions]) -> Response:
        """DescribeGroups of one; the row is `.struct.groups[0]`."""
        return self._of_group(group, request("DescribeGroups", groups=[group]), Response, **how)

    def list_groups(
        self, *, to: int | None = None, states: Sequence[str] = (), version: int | None = None, via: str = "main"
    ) -> Response:
        """ListGroups of one node (each knows only the groups that it coordinates), once it has read about them."""
        asked = request("ListGroups", states_filter=list(states))
        return self.ask(asked, to=to, version=version, via=via, retry_on=COORDINATOR_BUSY)

    def delete_groups(self, *groups: str, **how: Unpack[RetryOptions]) -> Response:
        """DeleteGroups, asked of the coordinator of the first; per-group codes are in `.struct.results`."""
        return self._of_group(groups[0], request("DeleteGroups", groups_names=list(groups)), Response, **how)
