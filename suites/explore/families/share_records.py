"""Records of share groups (KIP-932): acquired in share sessions, accepted, released, refused, renewed, well and badly.

A place is fetched alone the first time: a broker reads up where a group stands while others of a request are served.
Records are released by an acknowledgement of its own, and a session that holds any is not closed: a fetch that comes
along with the release may or may not see them.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.share_model import ModelShareMember, OffsetRange, SharePlace
from brokertrial.suites.explore.step import RequestStep, StepPatience
from brokertrial.wire import errors

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
RENEWS_FROM = 2
PLENTY = 50_000_000


def _member(model: Model) -> ModelShareMember | None:
    if model.shares.unclear:
        return None
    free = [member for member in model.shares.members if member.connection not in model.busy]
    return model.pick(free) if free else None


def _place(model: Model) -> SharePlace | None:
    topic = model.topic()
    if topic is None or topic.topic_id is None:
        return None
    return topic.topic_id, model.below(topic.partitions)


def _listed(places: dict[SharePlace, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Places and their acknowledgements, by topic."""
    topics: dict[Any, list[dict[str, Any]]] = {}
    for (topic_id, index), batches in places.items():
        topics.setdefault(topic_id, []).append({"partition_index": index, "acknowledgement_batches": batches})
    return [{"topic_id": topic_id, "partitions": partitions} for topic_id, partitions in topics.items()]


def _fetch(model: Model, member: ModelShareMember, epoch: int, *places: SharePlace, **more: Any) -> RequestStep:
    alone = len({*places, *member.asked}) <= 1
    fields: dict[str, Any] = {
        "group_id": model.shares.name, "member_id": member.member, "share_session_epoch": epoch,
        "max_wait_ms": StepPatience(), "min_bytes": 1, "max_bytes": PLENTY,
        "max_records": model.pick([500, 500, 1, 2, 4]) if alone else 500, "batch_size": model.pick([500, 500, 1, 2]),
        "share_acquire_mode": model.pick([0, 0, 1]), "topics": _listed({place: [] for place in places}),
    }  # fmt: skip
    return RequestStep("ShareFetch", model.version("ShareFetch"), fields | more, member.connection)


def _take(model: Model, member: ModelShareMember, answer: dict[str, Any]) -> None:
    """What was acquired; a place that was served once is served at once from then on."""
    for topic in answer["responses"]:
        for each in topic["partitions"]:
            place = (topic["topic_id"], each["partition_index"])
            if acquired := [(part["first_offset"], part["last_offset"]) for part in each["acquired_records"]]:
                member.acquire(place, acquired)
                model.shares.warm.add(place)


@rule("ShareFetch", 3.0)
def begin(model: Model) -> RequestStep | None:
    """A session, also in place of one that is open."""
    member, place = _member(model), _place(model)
    if member is None or place is None:
        return None
    warm = sorted(model.shares.warm - {place}, key=str)
    also = [model.pick(warm)] if warm and place in model.shares.warm and model.chance(0.3) else []
    places = [each for each in (place, *also) if _alive(model, each)]
    before, member.asked = member.asked, []
    step = _fetch(model, member, 0, *places)
    member.asked = before

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.session, member.asked = 1, places
            _take(model, member, answer)

    step.learn = learn
    return step


def _alive(model: Model, place: SharePlace) -> bool:
    return any(topic.alive and topic.topic_id == place[0] for topic in model.topics)


@rule("ShareFetch", 4.0)
def go_on(model: Model) -> RequestStep | None:
    """The next of a session: the same, one place more, one less, some records accepted; or in a wrong epoch."""
    member = _member(model)
    if member is None or member.session is None or not all(_alive(model, each) for each in member.asked):
        return None
    kind = model.pick(["same"] * 3 + ["more", "forget", "epoch", "close", "accept", "accept", "renew"])
    if kind == "accept":
        return _accepting(model, member)
    if kind == "close":
        return _closing(model, member)
    places: list[SharePlace] = []
    if kind == "more" and (place := _place(model)) is not None:
        if not {place, *member.asked} <= model.shares.warm and member.asked:
            return None
        places = [place]
    step = _fetch(model, member, member.session, *places)
    asked = list(dict.fromkeys([*member.asked, *places]))
    if kind == "forget" and asked:
        gone = asked.pop(0)
        step.fields["forgotten_topics_data"] = [{"topic_id": gone[0], "partitions": [gone[1]]}]
    elif kind == "epoch":
        step.fields["share_session_epoch"] += model.pick([1, 4])
    elif kind == "renew":
        step.fields["is_renew_ack"] = True

    def learn(answer: dict[str, Any]) -> None:
        _go_on(member, answer, asked)
        _take(model, member, answer)

    step.learn = learn
    return step


def _go_on(member: ModelShareMember, answer: dict[str, Any], asked: list[SharePlace]) -> None:
    """A session goes on; after a request that was refused, other than for its epoch, it has to begin anew."""
    if not answer["error_code"] and member.session is not None:
        member.session, member.asked = member.session + 1, asked
    elif answer["error_code"] != errors.INVALID_SHARE_SESSION_EPOCH:
        member.end_session()


def _closing(model: Model, member: ModelShareMember) -> RequestStep | None:
    if member.held:
        return None
    places = member.asked[:1] if model.chance(0.15) else []
    step = _fetch(model, member, -1, *places)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.end_session()

    step.learn = learn
    return step


def _accepting(model: Model, member: ModelShareMember) -> RequestStep | None:
    """A fetch that accepts, or rejects, what was acquired before."""
    held = [place for place in member.held if _alive(model, place) and place in member.asked]
    if not held or member.session is None:
        return None
    place, kind = model.pick(held), model.pick([ACCEPT, ACCEPT, REJECT])
    first, last = member.held[place][0]
    batch = {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
    step = _fetch(model, member, member.session, topics=_listed({place: [batch]}))

    def learn(answer: dict[str, Any]) -> None:
        _go_on(member, answer, member.asked)
        done = {
            (topic["topic_id"], each["partition_index"])
            for topic in answer["responses"]
            for each in topic["partitions"]
            if not each["acknowledge_error_code"]
        }
        if place in done:
            member.give_back(place, (first, last))
        _take(model, member, answer)

    step.learn = learn
    return step


def _part(model: Model, held: list[OffsetRange]) -> OffsetRange:
    """A range that is held, a part of it, or one that is not quite it."""
    first, last = model.pick(held)
    match model.pick(["whole"] * 5 + ["first", "last", "beyond", "backwards", "other"]):
        case "first":
            return first, first
        case "last":
            return last, last
        case "beyond":
            return first, last + 5
        case "backwards" if last > first:
            return last, first
        case "other":
            return 5_000, 5_001
    return first, last


@rule("ShareAcknowledge", 5.0)
def acknowledge(model: Model) -> RequestStep | None:
    """What is held, one type for all or one for each record; at times badly, twice, or in a wrong epoch."""
    member = _member(model)
    if member is None or member.session is None:
        return None
    held = [place for place in member.held if _alive(model, place)]
    place = model.pick(held) if held else _place(model)
    if place is None:
        return None
    first, last = _part(model, member.held.get(place, [(0, 0)]))
    version = model.version("ShareAcknowledge")
    kinds = [ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, GAP, 5, -1, *([RENEW] if version >= RENEWS_FROM else [])]
    types = [model.pick(kinds)]
    if last > first and model.chance(0.3):
        types = [model.pick(kinds) for _ in range(last - first + 1 + model.pick([0] * 6 + [1, -1]))]
    batch = {"first_offset": first, "last_offset": last, "acknowledge_types": types}
    batches = [batch] * model.pick([1] * 8 + [2])
    epoch = member.session + model.pick([0] * 8 + [1, -1 - member.session])
    closes = epoch == -1
    if closes and member.held:
        return None
    fields = {
        "group_id": model.shares.name, "member_id": member.member, "share_session_epoch": epoch,
        "topics": _listed({place: batches}), "is_renew_ack": RENEW in types and model.chance(0.9),
    }  # fmt: skip
    step = RequestStep("ShareAcknowledge", version, fields, member.connection)

    def learn(answer: dict[str, Any]) -> None:
        if closes and not answer["error_code"]:
            member.end_session()
            return
        _go_on(member, answer, member.asked)
        good = any(not each["error_code"] for topic in answer["responses"] for each in topic["partitions"])
        if good and not answer["error_code"]:
            for number, offset in enumerate(range(first, last + 1)):
                if types[min(number, len(types) - 1)] != RENEW:
                    member.give_back(place, (offset, offset))

    step.learn = learn
    return step


@rule("ShareFetch", 0.8)
def wrong_fetch(model: Model) -> RequestStep | None:
    """In a session that is not there, or a first request with what only a later one may have."""
    place = _place(model)
    if place is None:
        return None
    outsider = ModelShareMember(model.shares.name[-8:] + "A" * 14, model.connection(), frozenset())
    batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [ACCEPT]}
    wrong: list[dict[str, Any]] = [
        {"share_session_epoch": 3}, {"share_session_epoch": -1}, {"share_session_epoch": -2},
        {"share_session_epoch": 0, "topics": _listed({place: [batch]})}, {"group_id": ""}, {"group_id": None},
        {"member_id": ""}, {"member_id": None}, {"member_id": "x" * 60},
    ]  # fmt: skip
    return _fetch(model, outsider, 2, place, **model.pick(wrong))


@rule("ShareAcknowledge", 0.6)
def wrong_acknowledgement(model: Model) -> RequestStep | None:
    """Of a member that has no session, or none at all."""
    place = _place(model)
    if place is None:
        return None
    batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": model.pick([[ACCEPT], [], [9]])}
    fields: dict[str, Any] = {
        "group_id": model.shares.name, "member_id": model.shares.name[-8:] + "B" * 14,
        "share_session_epoch": model.pick([1, 0, -1]), "topics": _listed({place: [batch]}),
    }  # fmt: skip
    fields |= model.pick([{}, {"group_id": ""}, {"group_id": f"{model.prefix}-nobody"}, {"topics": []}])
    return RequestStep("ShareAcknowledge", model.version("ShareAcknowledge"), fields, model.connection())
