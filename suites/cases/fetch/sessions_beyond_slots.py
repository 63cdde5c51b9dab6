"""More readers with sessions than the broker may keep (KIP-227, max.incremental.fetch.session.cache.slots)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.preferred_leaders import await_leaders

SLOTS, KEPT, READERS, TURNS = "max.incremental.fetch.session.cache.slots", 16, 60, 3


@case(
    "fetch/sessions-beyond-their-slots",
    guarantees=["fetch-009"],
    apis={"Fetch": 7},
    needs=["chosen-settings", "restart"],
    detects=["B295"],
)
def sessions_in_use_make_no_room(wire, topic_of, nodes, rng):
    """Where more readers ask for sessions than the broker may keep, those that are given none (session id 0) MUST be
    served all the same, and a session that was used a moment ago MUST NOT be ended for a new one of its size: KIP-227
    lets it make room after two minutes only (min.incremental.fetch.session.eviction.ms).

    60 readers and 16 slots, which Kafka may split over eight caches; three turns, and in each the readers that have
    none ask for one again.
    """
    nodes.start_with({SLOTS: str(KEPT)})
    await_leaders(wire)
    place = (topic_of(), 0)
    sessions, epochs = dict.fromkeys(range(READERS), 0), dict.fromkeys(range(READERS), 0)
    for turn in range(TURNS):
        wire.produce(place[0], batch(f"{turn}")).must_be_at(turn)
        for reader in rng.sample(range(READERS), READERS):
            answer = wire.fetch_many(
                {place: turn},
                session_id=sessions[reader],
                session_epoch=epochs[reader],
                max_wait_ms=500,
                via=f"reader {reader}",
            ).must_succeed()
            answer.of(*place).must_hold(f"{turn}")
            if sessions[reader]:
                answer.must_have("session_id", sessions[reader])
            sessions[reader] = answer.session_id
            epochs[reader] = epochs[reader] + 1 if answer.session_id else 0
    kept = sum(1 for each in sessions.values() if each)
    if not kept:
        wire.not_applicable("the broker keeps no fetch sessions")
    wire.must(kept <= KEPT, f"{kept} of {READERS} readers have sessions; there are {KEPT} slots")
