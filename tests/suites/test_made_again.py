"""A topic that was deleted and made again has another id: what is asked again names it by the new one (KIP-516)."""

from __future__ import annotations

from uuid import UUID

from brokertrial.wire import errors
from tests.suites import scripted
from tests.suites.scripted import TOPIC, produced, wire_to

OLD, NEW = UUID(int=7), UUID(int=8)


def metadata_with(ids: list[UUID]):
    """Metadata that shows these ids one after the other, and then the last for good."""

    def answer(asked):
        found = scripted.metadata(asked)
        for row in found.topics:
            row.topic_id = ids.pop(0) if len(ids) > 1 else ids[0]
        return found

    return answer


def produce_of(known: UUID, seen: list[UUID]):
    def answer(asked):
        seen.append(asked.topic_data[0].topic_id)
        return produced(error=0 if seen[-1] == known else errors.UNKNOWN_TOPIC_ID)(asked)

    return answer


def test_a_request_that_is_sent_again_names_the_topic_by_its_new_id() -> None:
    seen: list[UUID] = []
    wire, _ = wire_to(Metadata=metadata_with([OLD, NEW]), Produce=produce_of(NEW, seen))
    answer = wire.produce(TOPIC, ["a"]).must_succeed()
    assert seen == [OLD, NEW]
    assert answer.asked.request.topic_data[0].topic_id == NEW


def test_an_id_that_stays_unknown_is_refused_in_the_end() -> None:
    seen: list[UUID] = []
    wire, _ = wire_to(Metadata=metadata_with([OLD]), Produce=produce_of(NEW, seen))
    wire.produce(TOPIC, ["a"]).must_be_refused(errors.UNKNOWN_TOPIC_ID)
    assert set(seen) == {OLD} and len(seen) > 2
