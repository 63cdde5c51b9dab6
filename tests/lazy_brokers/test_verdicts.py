"""A broker that does as little as it can, and the verdict that it gets: never all clear.

L1 hides APIs, L2 refuses, L3 hides settings, L4 and L5 are slow, L6 and L7 always say "try again", L8 gives no producer
ids, L9 refuses what is odd, L10 never cleans, L11 never raises an epoch, L13 knows who asks, L14 lies now and then, L15
disclaims, L16 dies, L17 claims and does not offer. Of L12 and L18 see the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.case import by_id
from brokertrial.suites.probe import run_case
from brokertrial.suites.probe.core import Core
from brokertrial.suites.trials import run_trial
from brokertrial.suites.workloads import fresh
from tests.lazy_brokers.lazy import TRICKS
from tests.lazy_brokers.trial import tried

pytestmark = pytest.mark.long

GROUPS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")


def test_the_same_broker_without_a_trick_is_all_clear(tmp_path: Path) -> None:
    cases = ("produce/base-offset", "offsets/ends", "groups/described", "retention/by-size", "protocol/names-nothing")
    ended = tried(tmp_path, "none", *cases, claims={"retention": True}, min_decided=100)
    assert ended.status == 0, ended.line


@pytest.mark.parametrize(
    ("hidden", "areas"),
    [
        (("CreateTopics",), {"requires/topics"}),
        (GROUPS, {"requires/groups"}),
        (("OffsetFetch", "EndTxn"), {"requires/commits", "requires/transactions"}),
    ],
)
def test_l1_what_is_hidden_is_missed(tmp_path: Path, hidden: tuple[str, ...], areas: set[str]) -> None:
    ended = tried(tmp_path, "none", "produce/base-offset", hidden=hidden)
    assert (ended.status, ended.failed) == (1, areas), ended.line


@pytest.mark.usefixtures("targets_settle_soon")
@pytest.mark.parametrize("trick", ["invalid-config", "invalid-replication", "policy", "forbidden"])
def test_l2_topics_are_refused(tmp_path: Path, trick: str) -> None:
    ended = tried(tmp_path, trick, "produce/base-offset", "offsets/ends")
    assert (ended.status, ended.failed) == (1, {"requires/data"}), ended.line
    reasons = [result.reason for case, result in ended.results.items() if case != "requires/data"]
    assert [reason.kind for reason in reasons if reason] == ["needs", "needs"]


@pytest.mark.parametrize(
    ("trick", "trials", "told"),
    [
        ("permits-no-transactions", ("transactions/lost-end-answers", "transactions/doubled-end"), "TransactionalId"),
        ("permits-no-commits", ("commits/lost-answers", "commits/frozen-coordinator"), "Group"),
    ],
)
def test_l2_what_the_clients_of_a_trial_are_not_permitted_is_said_at_once(
    tmp_path: Path, trick: str, trials: tuple[str, ...], told: str
) -> None:
    ended = tried(tmp_path, trick, *trials, require=())
    reasons = {result.reason.kind for result in ended.results.values() if result.reason}
    assert (ended.status, reasons) == (5, {"no-permission"}), ended.line
    assert all(result.reason.sentence.startswith(f"no permission: {told}: ") for result in ended.results.values())
    assert sum(result.duration_s for result in ended.results.values()) < 20
    ended = tried(_fresh(tmp_path), trick, trials[0])
    assert (ended.status, ended.failed) == (1, {trials[0]}), "the core is required"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_l2_a_permission_that_is_withdrawn_excuses_nothing(tmp_path: Path) -> None:
    ended = tried(tmp_path, "permits-no-more-commits", "commits/lost-answers", require=())
    assert (ended.status, ended.failed) == (1, {"commits/lost-answers"}), ended.line


@pytest.mark.usefixtures("targets_settle_soon")
def test_l2_what_is_claimed_may_not_be_refused(tmp_path: Path) -> None:
    ended = tried(tmp_path, "invalid-timestamp", "retention/by-time", claims={"retention": True})
    assert (ended.status, ended.failed) == (1, {"claims/retention", "requires/data"}), ended.line


@pytest.mark.parametrize("trick", ["hides-settings", "inflates-settings"])
def test_l3_settings_that_are_hidden_or_inflated_break_the_claim(tmp_path: Path, trick: str) -> None:
    cases = ("retention/by-size", "compaction/tombstones")
    ended = tried(tmp_path, trick, *cases, claims={"retention": True, "compaction": True})
    assert (ended.status, ended.failed) == (1, {"claims/retention", "claims/compaction"}), ended.line


def test_l3_without_a_claim_it_is_said_and_not_decided(tmp_path: Path) -> None:
    ended = tried(tmp_path, "hides-settings", "retention/by-size", "produce/base-offset", min_decided=90)
    assert ended.status == 6 and "too-slow-here 1" in ended.line and "1 of 2 musts decided" in ended.line


@pytest.mark.parametrize("trick", ["late", "slow-at-first"])
def test_l4_and_l5_late_is_late_however_slow_it_was_before(tmp_path: Path, trick: str) -> None:
    ended = tried(tmp_path, trick, "fetch/at-the-end")
    assert (ended.status, ended.failed) == (1, {"fetch/at-the-end"}), ended.line


def test_l6_try_again_for_ever_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Core.ask_as.__kwdefaults__, "within_s", 1.0)
    ended = tried(tmp_path, "never-commits", "commits/round-trip")
    assert (ended.status, ended.failed) == (1, {"commits/round-trip"}), ended.line


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_l7_a_broker_that_answers_no_write_any_more_fails(tmp_path: Path) -> None:
    ended = tried(tmp_path, "falls-silent", "commits/lost-answers")
    assert (ended.status, ended.failed) == (1, {"commits/lost-answers"}), ended.line


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_l7_a_group_that_nobody_can_join_is_the_brokers_failure(tmp_path: Path) -> None:
    ended = tried(tmp_path, "lets-nobody-join", "groups/churn-delivers-everything")
    assert (ended.status, ended.failed) == (1, {"groups/churn-delivers-everything"}), ended.line
    assert "a fresh client" in ended.results["groups/churn-delivers-everything"].reason.sentence


def test_l8_come_again_is_no_producer_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Core.ask_as.__kwdefaults__, "within_s", 1.0)
    ended = tried(tmp_path, "no-ids", "idempotence/fresh-producer-ids")
    assert (ended.status, ended.failed) == (1, {"idempotence/fresh-producer-ids"}), ended.line


def test_l9_a_refusal_is_no_service(tmp_path: Path) -> None:
    cases = {"protocol/no-client-id", "protocol/advertised-is-served"}
    ended = tried(tmp_path, "refuses-the-odd", *cases)
    assert (ended.status, ended.failed) == (1, cases), ended.line


def test_l10_a_log_that_is_never_cleaned_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = by_id()["compaction/cleaned-at-all"]
    monkeypatch.setitem(case.function.__globals__, "NEVER_S", 1.0)
    ended = tried(tmp_path, "none", "compaction/cleaned-at-all", planted="M36k")
    assert (ended.status, ended.failed) == (1, {"compaction/cleaned-at-all"}), ended.line


def test_l11_a_leader_epoch_that_stays_fails_on_one_node(tmp_path: Path) -> None:
    ended = tried(tmp_path, "none", "records/epoch-of-the-leader", planted="M32d")
    assert (ended.status, ended.failed) == (1, {"records/epoch-of-the-leader"}), ended.line


def test_l13_the_suite_is_not_known_by_its_names(tmp_path: Path) -> None:
    ended = tried(tmp_path, "knows-the-suite", "produce/base-offset")
    assert (ended.status, ended.failed) == (1, {"produce/base-offset"}), ended.line


def test_l14_a_wrong_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    ended = tried(tmp_path, "one-in-three", "ordering/one-connection")
    assert (ended.status, ended.failed) == (1, {"ordering/one-connection"}), ended.line
    assert len(ended.results["ordering/one-connection"].attempts) == 1


def test_l15_what_is_disclaimed_is_in_the_last_line_and_was_not_decided(tmp_path: Path) -> None:
    cases, claims = ("produce/base-offset", "transactions/markers"), {"transactions": False}
    ended = tried(tmp_path, "none", *cases, claims=claims, min_decided=90)
    assert ended.status == 6, "where somebody asks how much was decided"
    assert ended.line.endswith("; disclaimed: transactions") and "1 of 2 musts decided" in ended.line
    required = tried(
        _fresh(tmp_path), "none", *cases[:1], claims=claims, require=("core", "transactions"), hidden=("EndTxn",)
    )
    assert required.status == 1, "what is required by name cannot be disclaimed"


def test_l16_a_broker_that_dies_of_a_question_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_case, "WITNESS_S", 0.5)
    ended = tried(tmp_path, "dies", "groups/described")
    assert ended.status == 1 and ended.results["groups/described"].reason.kind in ("died", "no-answer"), ended.line


def test_l17_what_is_claimed_is_looked_for(tmp_path: Path) -> None:
    claims = {"delete-records": True, "share-groups": True}
    ended = tried(tmp_path, "none", "produce/base-offset", hidden=("DeleteRecords",), claims=claims)
    assert (ended.status, ended.failed) == (1, {"claims/delete-records", "claims/share-groups"}), ended.line


def test_every_trick_is_tried() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [trick for trick in TRICKS if f'"{trick}"' not in text] == []


def _fresh(folder: Path) -> Path:
    again = folder / "again"
    again.mkdir()
    return again


# L12 (no fsync) shows in a power cut alone, which the README says. L18 (nothing can be decided) is 6:
# tests/suites/test_exit_status.py.


def test_a_broker_that_dies_at_work_is_not_waited_for(tmp_path: Path) -> None:
    ended = tried(tmp_path, "dies-at-work", "ordering/pipelined-sends")
    (result,) = (result for name, result in ended.results.items() if name == "ordering/pipelined-sends")
    assert result.reason is not None and result.reason.kind == "died"
    assert result.duration_s < 60 and len(result.attempts) == 1


def test_a_group_in_which_nobody_owns_anything_fails_before_any_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_trial, "WARM_UP_S", 5.0)
    monkeypatch.setattr(run_trial, "FRESH_AFTER_S", 2.5)
    monkeypatch.setattr(fresh, "JOIN_S", 5.0)
    ended = tried(tmp_path, "assigns-nothing", "groups/churn-delivers-everything", "groups/member-cut-off")
    first, second = (ended.results[name] for name in ("groups/churn-delivers-everything", "groups/member-cut-off"))
    assert first.reason is not None and first.reason.sentence.startswith("Before any fault there was no progress")
    assert len(first.attempts) <= 2, "one beside the other case and one alone"
    assert second.reason is not None and second.reason.kind == "needs"
