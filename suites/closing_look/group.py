"""A group: its offsets asked for at once and one by one, its description, and the lists that it must stand in."""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.suites.closing_look.partition import VIA
from brokertrial.suites.closing_look.subjects import Place
from brokertrial.suites.probe.commits import Committed
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request

GONE = ("Dead", "")
STATES_SINCE = 4
"""The version from which ListGroups shows and filters states (KIP-518)."""


class GroupLook:
    """One group, once. Raises what is false.

    `coordinator_moved`: it may have; what a new one reports is a moment old until it has written.
    """

    def __init__(
        self, wire: Wire, group: str, acknowledged: Mapping[Place, int], coordinator_moved: bool = False
    ) -> None:
        self._wire = wire
        self._group = group
        self._acknowledged = acknowledged
        self._coordinator_moved = coordinator_moved

    @breaks("cmt-001", "cmt-016")
    def judge(self) -> None:
        """All questions; the first answer that does not fit is raised."""
        if self._coordinator_moved:
            make_coordinator_write(self._wire, self._group)
        self._judge_offsets()
        if self._wire.versions("DescribeGroups") and self._wire.versions("ListGroups"):
            self._judge_lists()

    def _judge_offsets(self) -> None:
        wire, group = self._wire, self._group
        whole = wire.committed_all(group, via=VIA)
        if whole.error in (errors.GROUP_ID_NOT_FOUND, errors.INVALID_GROUP_ID) and not self._acknowledged:
            return
        by_name = self._of_topics_that_are_known(whole)
        for place, offset in self._acknowledged.items():
            with breaks("cmt-001"):
                whole.must(
                    by_name.get(place, -1) == offset,
                    f"{place[0]}-{place[1]} has {by_name.get(place, -1)}; {offset} was committed last",
                )
        if by_name:
            single = wire.committed_all(group, list(by_name), via=VIA).must_succeed()
            found = self._of_topics_that_are_known(single)
            wire.must(
                found == by_name,
                f"OffsetFetch names {by_name} for all partitions, and {found} for the same by name",
                whole,
                single,
            )

    def _of_topics_that_are_known(self, answer: Committed) -> dict[Place, int]:
        """What is committed for topics of this case that still exist; an answer may name them by their ids alone."""
        names = {str(topic_id): topic for topic, topic_id in self._wire.topic_ids.items()}
        by_name = {(names.get(str(topic), str(topic)), index): at for (topic, index), at in answer.offsets.items()}
        return {place: offset for place, offset in by_name.items() if self._wire.known_partitions(place[0])}

    @breaks("grp-020")
    def _judge_lists(self) -> None:
        """The state of a group is the same in its description and in the lists, whole and filtered."""
        wire = self._wire
        described = wire.describe_group(self._group, via=VIA)
        coordinator = wire.coordinator(self._group)  # after it: one that has moved was looked up by then
        if described.error:  # a consumer group (KIP-848) has a description of its own
            return
        row = described.struct.groups[0]
        if row.group_state in GONE:
            return
        described.must(
            (row.group_state == "Empty") == (not row.members),
            f"the group is {row.group_state} and has {len(row.members)} members",
            "groups[0].group_state",
        )
        states = (row.group_state,) if wire.versions("ListGroups")[-1] >= STATES_SINCE else ()
        for wanted in dict.fromkeys(((), states)):
            asked = request("ListGroups", states_filter=list(wanted))
            listed = wire.ask(asked, to=coordinator, via=VIA).must_succeed()
            found = [one for one in listed.struct.groups if one.group_id == self._group]
            wire.must(
                len(found) == 1, f"the group is {row.group_state}, and listed {len(found)} times", described, listed
            )
            shown = (found[0].protocol_type, getattr(found[0], "group_state", "") or row.group_state)
            wire.must(
                shown == (row.protocol_type, row.group_state),
                f"the group is described as {(row.protocol_type, row.group_state)} and listed as {shown}",
                described,
                listed,
            )
