"""The controller alone, on a clock that a test moves: who leads, who is in sync, and who may say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.control.controller import Controller
from brokertrial.reference_impl.control.image import NOBODY, Placement
from brokertrial.reference_impl.control.journal import MetadataJournal
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import errors

EVER = 1 << 60


class Rig:
    """A controller with three live brokers and a topic of one partition on all of them."""

    def __init__(self, path: Path | None = None, **topic: str) -> None:
        self.clock = ManualClock()
        self.journal = MetadataJournal(path)
        self.config = BrokerConfig(data=Path("nowhere"), settings={"broker.session.timeout.ms": "1000"})
        self.controller = Controller(self.journal, self.config, self.clock)
        self.epochs = {one: self.join(one) for one in (1, 2, 3)}
        self.topic = self.controller.create_topic("t", [[1, 2, 3]], topic, internal=False)

    @property
    def placement(self) -> Placement:
        return self.journal.image.topics["t"].placements[0]

    def join(self, broker: int, incarnation: str = "a") -> int:
        epoch = self.controller.register(broker, incarnation, "h", broker)
        self.controller.heartbeat(broker, epoch, EVER, stop=False)
        return epoch

    def silence(self, *silent: int) -> None:
        """These brokers say nothing for longer than a session lasts."""
        for _ in range(4):
            self.clock.advance(0.5)
            for broker in {1, 2, 3} - set(silent):
                self.controller.heartbeat(broker, self.epochs[broker], EVER, stop=False)
            self.controller.tick()

    def alter(self, isr: list[int], *, leader: int = 1, **stale: int) -> int:
        placement = self.placement
        return self.controller.alter_isr(
            leader, stale.get("broker_epoch", self.epochs[leader]), self.topic.id, 0,
            stale.get("leader_epoch", placement.leader_epoch), stale.get("partition_epoch", placement.partition_epoch),
            [(one, stale.get("member_epoch", self.epochs[one])) for one in isr],
        )  # fmt: skip


def test_a_silent_leader_is_fenced_and_the_next_in_sync_replica_leads() -> None:
    rig = Rig()
    rig.silence(1)
    assert (rig.placement.leader, rig.placement.leader_epoch, rig.placement.isr) == (2, 1, [2, 3])
    assert rig.journal.image.brokers[1].fenced


@pytest.mark.parametrize(("bug", "leader", "fenced"), [("", 2, False), ("Z1", 1, False), ("Z4", 2, True)])
def test_a_planted_bug_keeps_who_is_silent_or_shuts_out_who_was(bug: str, leader: int, fenced: bool) -> None:
    rig = Rig()
    try:
        if bug:
            bugs.plant(bug)
        rig.silence(1)
        rig.controller.heartbeat(1, rig.epochs[1], EVER, stop=False)
        assert (rig.placement.leader, rig.journal.image.brokers[1].fenced) == (leader, fenced)
    finally:
        bugs.clear()


def test_a_connection_that_breaks_is_a_sign_of_death_unless_the_broker_is_back() -> None:
    rig = Rig()
    rig.controller.disconnected(1, rig.epochs[1])
    rig.clock.advance(0.1)
    rig.controller.heartbeat(1, rig.epochs[1], EVER, stop=False)
    rig.clock.advance(0.2)
    rig.controller.tick()
    assert rig.placement.leader == 1
    rig.controller.disconnected(1, rig.epochs[1])
    rig.clock.advance(0.3)
    rig.controller.tick()
    assert rig.placement.leader == 2


def test_the_last_in_sync_replica_stays_and_leads_again() -> None:
    rig = Rig()
    assert rig.alter([1]) == errors.NONE
    rig.silence(1)
    assert (rig.placement.leader, rig.placement.isr) == (NOBODY, [1]), "2 and 3 lack what 1 has"
    rig.epochs[1] = rig.join(1, "b")
    assert (rig.placement.leader, rig.placement.isr, rig.placement.leader_epoch) == (1, [1], 2)


def test_unclean_election_is_for_those_who_asked_for_it() -> None:
    rig = Rig(**{"unclean.leader.election.enable": "true"})
    assert rig.alter([1]) == errors.NONE
    rig.silence(1)
    assert (rig.placement.leader, rig.placement.isr) == (2, [2])
    clean = Rig()
    clean.alter([1])
    clean.silence(1)
    clean.controller.configure_topic(clean.topic, {"unclean.leader.election.enable": "true"})
    assert clean.placement.leader == -1, "the controller looks for such partitions once a second"
    clean.clock.advance(1.1)
    clean.controller.heartbeat(2, clean.epochs[2], EVER, stop=False)
    clean.controller.tick()
    assert clean.placement.leader == 2


def test_a_restart_must_earn_its_place_again() -> None:
    rig = Rig()
    rig.epochs[2] = rig.join(2, "b")
    assert rig.placement.isr == [1, 3]
    rig.epochs[1] = rig.join(1, "b")
    assert (rig.placement.leader, rig.placement.isr) == (3, [3])
    assert rig.controller.heartbeat(1, rig.epochs[1] - 1, EVER, stop=False).error == errors.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("stale", "error"),
    [
        ({"partition_epoch": 0}, errors.INVALID_UPDATE_VERSION),
        ({"leader_epoch": -1}, errors.FENCED_LEADER_EPOCH),
        ({"broker_epoch": -7}, errors.STALE_BROKER_EPOCH),
        ({"member_epoch": 1}, errors.INELIGIBLE_REPLICA),
        ({"partition_epoch": 99}, errors.NOT_CONTROLLER),
    ],
)
def test_a_stale_word_changes_nothing(stale: dict[str, int], error: int) -> None:
    rig = Rig()
    rig.alter([1, 2])
    before = (list(rig.placement.isr), rig.placement.partition_epoch)
    assert rig.alter([1, 2, 3], **stale) == error
    assert (rig.placement.isr, rig.placement.partition_epoch) == before
    assert rig.alter([1, 2, 3]) == errors.NONE


def test_only_the_leader_speaks_and_only_of_replicas_that_are_alive() -> None:
    rig = Rig()
    assert rig.alter([1, 2], leader=2) == errors.INVALID_REQUEST
    assert rig.alter([2, 3]) == errors.INVALID_REQUEST, "a leader is in sync with itself"
    rig.silence(3)
    assert rig.alter([1, 2, 3]) == errors.INELIGIBLE_REPLICA


def test_an_orderly_stop_hands_over_first() -> None:
    rig = Rig()
    heard = rig.controller.heartbeat(1, rig.epochs[1], EVER, stop=True)
    assert (rig.placement.leader, rig.placement.isr, heard.should_stop) == (2, [2, 3], True)


def test_preferred_leaders_return_on_request_and_by_themselves() -> None:
    rig = Rig()
    assert rig.controller.elect(rig.topic, 0, unclean=False) == errors.ELECTION_NOT_NEEDED
    assert rig.controller.move_leader(rig.topic, 0, 3)
    assert rig.controller.elect(rig.topic, 0, unclean=False) == errors.NONE
    assert rig.placement.leader == 1
    rig.controller.move_leader(rig.topic, 0, 3)
    rig.clock.advance(301)
    for broker in (1, 2, 3):
        rig.controller.heartbeat(broker, rig.epochs[broker], EVER, stop=False)
    rig.controller.tick()
    assert rig.placement.leader == 1


def test_a_reassignment_adds_then_waits_then_removes() -> None:
    rig = Rig()
    rig.epochs[4] = rig.join(4)
    assert rig.controller.reassign(rig.topic, 0, [4, 2]) == errors.NONE
    assert (rig.placement.replicas, rig.placement.adding, rig.placement.removing) == ([4, 2, 1, 3], [4], [1, 3])
    assert rig.alter([1, 2, 3, 4]) == errors.NONE
    assert (rig.placement.replicas, rig.placement.isr, rig.placement.adding) == ([4, 2], [2, 4], [])
    assert rig.placement.leader == 4
    assert rig.controller.reassign(rig.topic, 0, None) == errors.NO_REASSIGNMENT_IN_PROGRESS
    assert rig.controller.reassign(rig.topic, 0, [9]) == errors.INVALID_REPLICA_ASSIGNMENT


def test_a_reassignment_called_off_leaves_what_was_there() -> None:
    rig = Rig()
    rig.epochs[4] = rig.join(4)
    rig.controller.reassign(rig.topic, 0, [4, 2, 3])
    assert rig.controller.reassign(rig.topic, 0, None) == errors.NONE
    assert (sorted(rig.placement.replicas), rig.placement.adding, rig.placement.leader) == ([1, 2, 3], [], 1)


def _moved_to_two_of_which_one_leads(**topic: str) -> Rig:
    """From [1] to [2, 3]: 2 is in sync and leads, 1 and 3 are silent."""
    rig = Rig(**topic)
    assert rig.controller.reassign(rig.topic, 0, [1]) == errors.NONE
    rig.silence(3)
    rig.controller.reassign(rig.topic, 0, [2, 3])
    rig.alter([1, 2])
    rig.controller.elect(rig.topic, 0, unclean=False)
    assert (rig.placement.leader, rig.placement.isr, rig.placement.adding) == (2, [1, 2], [2, 3])
    return rig


def test_a_reassignment_is_not_called_off_by_an_unclean_election() -> None:
    rig = _moved_to_two_of_which_one_leads()
    rig.silence(1, 3)
    before = rig.placement.partition_epoch
    assert rig.controller.reassign(rig.topic, 0, None) == errors.INVALID_REPLICA_ASSIGNMENT
    assert (rig.placement.leader, rig.placement.isr, rig.placement.partition_epoch) == (2, [2], before)


def test_a_reassignment_is_called_off_by_an_unclean_election_where_that_is_allowed() -> None:
    rig = _moved_to_two_of_which_one_leads(**{"unclean.leader.election.enable": "true"})
    rig.silence(1, 3)
    assert rig.controller.reassign(rig.topic, 0, None) == errors.NONE
    assert (rig.placement.leader, rig.placement.replicas, rig.placement.isr) == (NOBODY, [1], [1])


def test_who_was_being_added_stays_until_the_next_reassignment_is_complete() -> None:
    rig = _moved_to_two_of_which_one_leads()
    assert rig.controller.reassign(rig.topic, 0, [3]) == errors.NONE
    assert (rig.placement.replicas, rig.placement.isr, rig.placement.leader) == ([3, 1, 2], [1, 2], 2)
    assert rig.placement.removing == [1, 2]
    rig.epochs[3] = rig.join(3, "b")
    rig.alter([1, 2, 3], leader=2)
    assert (rig.placement.replicas, rig.placement.isr, rig.placement.leader) == ([3], [3], 3)


def test_the_leader_epoch_rises_when_a_replica_goes_and_not_when_one_comes() -> None:
    rig = Rig()
    epoch = rig.placement.leader_epoch
    rig.controller.reassign(rig.topic, 0, [1, 2])
    assert (rig.placement.leader, rig.placement.leader_epoch) == (1, epoch + 1)
    rig.controller.reassign(rig.topic, 0, [1, 2, 3])
    rig.alter([1, 2, 3])
    assert (rig.placement.replicas, rig.placement.leader_epoch) == ([1, 2, 3], epoch + 1)


def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "journal")
    rig.silence(1)
    before = rig.placement
    rig.journal.close()
    again = MetadataJournal(tmp_path / "journal")
    assert again.image.topics["t"].placements[0] == before
    assert again.image.brokers == rig.journal.image.brokers
    controller = Controller(again, rig.config, rig.clock)
    controller.tick()
    assert again.image.topics["t"].placements[0].leader == before.leader, "everybody has a session's time to call"
    again.close()
