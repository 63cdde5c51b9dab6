"""Situations: when a case is disturbed, what a pair is worth, and bugs that only a pair shows."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.draw import Draw
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.gathered import Gathering
from brokertrial.suites.running.options import BadOptions, RunOptions
from brokertrial.suites.running.rejudge import judge_stored
from brokertrial.suites.running.run import run
from brokertrial.suites.situations import DRAWS, situations
from brokertrial.suites.situations.choice import DEEP, SAMPLE, chosen_pairs
from brokertrial.suites.situations.moments import is_fair
from brokertrial.suites.situations.pair_record import NO_EFFECT, PairProof, PairRecord, text_of
from brokertrial.suites.situations.pairs import case_named, pair, pairs_of
from brokertrial.suites.situations.warm import names_in, topics_of
from brokertrial.wire.messages import request, response

CASE = "offsets/ends"


def asked(api: str, answer: dict[str, Any] | None = None, **fields: Any) -> Any:
    struct = None if answer is None else response(api, **answer)
    return SimpleNamespace(request=request(api, **fields), answer=struct, answered=answer is not None)


# pairs and draws


def test_a_draw_is_read_as_it_is_written() -> None:
    assert Draw.parse(str(Draw("old-versions", 2))) == Draw("old-versions", 2)
    with pytest.raises(ValueError, match="no draw"):
        Draw.parse("stop")


def test_a_situation_is_found_by_the_name_of_its_file() -> None:
    assert {"stop", "crash", "old-versions", "topic-settings"} <= set(situations())


def test_a_pair_is_the_case_with_what_the_situation_needs() -> None:
    met = pair(by_id()[CASE], Draw("crash", 2))
    assert (met.id, met.plain_id, met.hurts) == (f"{CASE}@crash-2", CASE, True)
    assert {"kill", "restart"} <= set(met.needs) and met.content_hash == by_id()[CASE].content_hash
    assert by_id()[CASE].situation is None and not by_id()[CASE].hurts


@pytest.mark.parametrize("name", [f"{CASE}@nowhere-1", f"{CASE}@stop", "no/such@stop-1"])
def test_what_is_no_pair_has_no_case(name: str) -> None:
    assert case_named(name) is None


def test_cases_that_hurt_nodes_are_met_in_no_situation() -> None:
    hurting = next(case for case in by_id().values() if case.kind == "wire" and case.hurts)
    assert not list(pairs_of(hurting)) and len(list(pairs_of(by_id()[CASE]))) == DRAWS * len(situations())


# fair moments

JOINED = asked("JoinGroup", {}, group_id="g")
SYNCED = asked("SyncGroup", {"error_code": 0}, group_id="g", assignments=[{"member_id": "m", "assignment": b""}])


@pytest.mark.parametrize(
    ("exchanges", "fair"),
    [
        ([asked("Produce", {}, acks=-1)], True),
        ([asked("Produce", {}, acks=1)], False),
        ([asked("Fetch", {"session_id": 0})], True),
        ([asked("Fetch", {"session_id": 7})], False),
        ([JOINED], False),
        ([JOINED, SYNCED], True),
        ([JOINED, SYNCED, JOINED], False),
    ],
    ids=["acks all", "acks 1", "no session", "a session", "joining", "joined", "joining again"],
)
def test_a_moment_is_fair_when_nothing_may_be_forgotten(exchanges: list[Any], fair: bool) -> None:
    assert is_fair(exchanges) is fair


# what is described before a change

TOPIC_ID = uuid.uuid4()


@pytest.mark.parametrize(
    ("change", "topics"),
    [
        (request("Produce", topic_data=[{"name": "t"}]), ["t"]),
        (request("Produce", topic_data=[{"topic_id": TOPIC_ID}]), ["known"]),
        (request("OffsetCommit", topics=[{"name": "t"}, {"name": "u"}]), ["t", "u"]),
        (request("IncrementalAlterConfigs", resources=[{"resource_type": 2, "resource_name": "t"}]), ["t"]),
        (request("IncrementalAlterConfigs", resources=[{"resource_type": 4, "resource_name": "1"}]), []),
        (request("EndTxn", transactional_id="x"), []),
    ],
    ids=["by name", "by id", "two", "settings", "settings of a broker", "none"],
)
def test_the_topics_that_a_change_names(change: Any, topics: list[str]) -> None:
    assert list(topics_of(change, {"known": TOPIC_ID})) == topics


def test_one_name_and_several_are_found_alike() -> None:
    fields = ("group_id", "groups_names")
    assert list(names_in(request("OffsetCommit", group_id="g"), fields)) == ["g"]
    assert list(names_in(request("DeleteGroups", groups_names=["g", "h"]), fields)) == ["g", "h"]


# the record


def record_of(**known: Any) -> PairRecord:
    case = by_id()[CASE]
    return PairRecord({f"{CASE}@stop": PairProof(text_of(case, "stop"), **known)})


@pytest.mark.parametrize(
    ("known", "number", "nodes", "accuses"),
    [
        ({"one": [1, 2, 3]}, 2, 1, True),
        ({"one": [1, 2, 3]}, 2, 3, False),
        ({"several": [1, 2, 3]}, 2, 3, True),
        ({"one": [1, 2]}, 2, 1, False),
        ({"one": [1, 2], "out": {"one-3": NO_EFFECT}}, 2, 1, True),
        ({"one": [1, 2], "out": {"one-3": "failed: x"}}, 2, 1, False),
        ({"one": [1, 2], "out": {"one-3": NO_EFFECT}}, 3, 1, False),
    ],
    ids=["three", "elsewhere", "several", "two", "one idle", "one out", "the idle one"],
)
def test_a_pair_accuses_after_three_draws(known: Any, number: int, nodes: int, accuses: bool) -> None:
    why = record_of(**known).why_not_accused(by_id()[CASE], Draw("stop", number), nodes)
    assert (why == "") is accuses


def test_an_entry_about_another_text_counts_for_nothing() -> None:
    old = PairRecord({f"{CASE}@stop": PairProof("another", one=[1, 2, 3])})
    assert old.draws(by_id()[CASE], "stop") == [] and old.why_not_accused(by_id()[CASE], Draw("stop", 1), 1)


def test_the_record_is_read_as_it_is_written(tmp_path: Path) -> None:
    kept = record_of(one=[1], out={"one-2": NO_EFFECT})
    kept.begun(by_id()["offsets/ends"], "cold").enter("several", 3, "")
    kept.write(tmp_path / "pairs.json")
    assert PairRecord.read(tmp_path / "pairs.json").entries == kept.entries
    assert len((tmp_path / "pairs.json").read_text().splitlines()) == 4


# which pairs a run tries


def ids(word: str, record: PairRecord, seed: int = 1, healthy_s: float = 0.1) -> list[str]:
    return [one.id for one in chosen_pairs([by_id()[CASE]], [word], seed, record, lambda case: healthy_s)]


def test_a_sample_has_one_draw_of_each_pair_and_follows_the_seed() -> None:
    record = record_of(one=[1, 3], several=[2], out={"several-2": "failed: x"})
    drawn = {tuple(ids(SAMPLE, record, seed)) for seed in range(20)}
    assert drawn == {(f"{CASE}@stop-1",), (f"{CASE}@stop-3",)} and ids(SAMPLE, record, 7) == ids(SAMPLE, record, 7)


def test_long_cases_are_left_to_deep_runs() -> None:
    record = record_of(one=[1, 3])
    assert ids(SAMPLE, record, healthy_s=60) == []
    assert ids(DEEP, record, healthy_s=60) == [f"{CASE}@stop-1", f"{CASE}@stop-3"]


def test_a_named_situation_has_all_draws_that_kafka_is_not_known_to_fail() -> None:
    record = record_of(one=[1], out={"one-2": "failed: x"})
    assert ids("stop", record) == [f"{CASE}@stop-1", f"{CASE}@stop-3"]


def test_a_situation_that_is_none_is_refused() -> None:
    with pytest.raises(BadOptions, match="situation 'nowhere' is none of"):
        RunOptions("reference", situations=("nowhere",)).validated()


# waiting for each other


def test_one_act_serves_all_who_come_and_who_leaves_is_not_waited_for() -> None:
    gathering, acts, came = Gathering(3), [], []

    def come() -> None:
        came.append(gathering.arrive(lambda: (acts.append("act"), "done")[1]))

    threads = [threading.Thread(target=come) for _ in range(2)]
    for thread in threads:
        thread.start()
    gathering.leave()
    for thread in threads:
        thread.join(10)
    assert (came, acts) == (["done", "done"], ["act"])


# runs


def results_of(target: str, place: Path, *cases: str, jobs: int = 4) -> dict[str, CaseResult]:
    options = RunOptions(target, select=cases, run_dir=str(place), require=(), jobs=jobs, unproven="fail")
    return {result.case: result for result in run(options).results}


HARMLESS = ("stop-1", "crash-2", "crash-3", "cold-1", "old-versions-1", "topic-settings-2", "warm-2", "wide-3")
TRIED = "idempotence/retry-is-written-once"


def test_a_healthy_broker_passes_in_every_situation_and_a_stored_pair_is_judged_the_same(tmp_path: Path) -> None:
    found = results_of("reference", tmp_path / "run", *(f"{TRIED}@{draw}" for draw in HARMLESS))
    assert set(found) == {TRIED, *(f"{TRIED}@{draw}" for draw in HARMLESS)}
    for name, result in found.items():
        assert (result.verdict, result.reason) == (Verdict.PASS, None), name
        again = judge_stored(tmp_path / "run" / result.history)
        assert (again.case, again.verdict, again.reason) == (name, Verdict.PASS, None)


def test_a_case_without_anything_to_disturb_was_not_tried(tmp_path: Path) -> None:
    name = "protocol/api-versions-list@stop-1"
    reason = results_of("reference", tmp_path / "run", name)[name].reason
    assert reason is not None and reason.kind == "no-effect"


@pytest.mark.usefixtures("looks_settle_soon")
def test_what_fails_as_it_is_written_is_not_tried_in_situations(tmp_path: Path) -> None:
    bug = by_id()[TRIED].bugs[0]
    found = results_of(f"reference?mutant={bug}", tmp_path / "run", f"{TRIED}@cold-1")
    assert found[TRIED].verdict is Verdict.FAIL
    assert found[f"{TRIED}@cold-1"].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("bug", "pair_id", "sentence"),
    [
        ("M03", "records/round-trip@crash-2", "the batch at offset 0 is gone"),
        ("M21", "commits/round-trip@crash-2", "its offset of t1-0 was"),
        ("M19b", "transactions/offsets-with-the-commit@crash-1", "committed_offset is 1; it must be 5"),
        ("M24g", "groups/consumer-joins@stop-2", "is not known any more"),
        ("R01", "transactions/markers@warm-1", "it is told of nothing new"),
        ("R02", "commits/several-at-once@warm-3", "the offsets are {}"),
    ],
)
@pytest.mark.usefixtures("looks_settle_soon")
def test_a_bug_that_only_a_situation_brings_out_is_found(
    bug: str, pair_id: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brokertrial.suites.probe.run_case.LONG_S", 60.0)  # a busy machine may start a node slowly
    found = results_of(f"reference?mutant={bug}", tmp_path / "run", pair_id, jobs=1)  # what fails alone fails at once
    plain, met = found[pair_id.partition("@")[0]], found[pair_id]
    assert plain.verdict is Verdict.PASS
    assert met.reason is not None and met.verdict is Verdict.FAIL, met.reason
    assert sentence in met.reason.sentence


def test_what_nodes_that_were_long_away_forgot_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brokertrial.suites.probe.run_case.LONG_S", -1.0)
    pair_id = "groups/consumer-joins@stop-2"
    met = results_of("reference?mutant=M24g", tmp_path / "run", pair_id)[pair_id]
    assert met.verdict is Verdict.INCONCLUSIVE and met.reason is not None
    assert met.reason.kind == "slow-target" and "no request could be sent" in met.reason.sentence
    healthy = results_of("reference", tmp_path / "healthy", pair_id)[pair_id]
    assert healthy.verdict is Verdict.PASS
