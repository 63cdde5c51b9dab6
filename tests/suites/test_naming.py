"""Names give no hint of who asks, or what: not of topics and groups, not of clients. Only those are ever deleted."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Schedule
from brokertrial.suites.case import all_cases, by_id
from brokertrial.suites.outcome import failed
from brokertrial.suites.probe import naming
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Evidence
from brokertrial.suites.running.cleanup import NAMES, NameJournal, clean
from brokertrial.suites.running.run_wide_faults import RunWideFaults
from brokertrial.wire.messages import response
from tests.suites.in_process import NODE, InProcess
from tests.suites.scripted import SCENE, wire_to

HINTS = (b"brokertrial", b"bt-", b"trial", b"producer-", b"probe")


def test_names_are_a_prefix_and_plain_words_and_all_differ() -> None:
    names = [naming.name("kqzwx", "salt", case.id, 1, f"t{n}") for case in all_cases() for n in range(20)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"kqzwx-[a-z]+-[a-z]+-\d+", name) for name in names)


def test_a_stored_case_asks_for_the_same_names_and_nobody_else_can_work_them_out() -> None:
    names = {naming.name("kqzwx", salt, "a/b", 1, "t1") for salt in ("one", "one", "two", "")}
    assert len(names) == 3
    assert naming.salt("1/2/3") == naming.salt("1/2/3") != naming.salt("1/2/4")


def test_every_other_name_of_a_case_begins_with_the_one_before_it() -> None:
    scenes = [CaseContext(prefix="kqzwx", salt="salt", case=case.id, names_alike=True) for case in all_cases()]
    named = [[naming.name_in_case(scene, "t", number) for number in range(1, 21)] for scene in scenes]
    pairs = [pair for names in named for pair in pairwise(names)]
    longer = [pair for pair in pairs if pair[1].startswith(f"{pair[0]}-")]
    assert 0.15 < len(longer) / len(pairs) < 0.35, "where the one before is no longer one itself"
    assert all(len(set(names)) == len(names) for names in named)


def test_names_that_were_stored_before_stay_what_they_were() -> None:
    scene = CaseContext(prefix="kqzwx", salt="salt", case="a/b", attempt=2)
    assert [naming.name_in_case(scene, "t", number) for number in range(1, 9)] == [
        naming.name("kqzwx", "salt", "a/b", 2, f"t{number}") for number in range(1, 9)
    ]


def test_a_prefix_that_is_in_use_is_passed_over() -> None:
    first = naming.unused(7, ())
    second = naming.unused(7, [f"{first}x", "orders"])
    assert first != second and naming.unused(7, ["orders"]) == first
    assert naming.unused(8, ()) != first


@pytest.mark.parametrize("client", ["producer-1", "consumer-12", "a-member-1.2", "asker-1"])
def test_clients_call_themselves_something_that_only_the_proxy_can_read(client: str) -> None:
    aliases = ClientAliases("kqzwx", "salt")
    alias = aliases.hide(client)
    assert alias.startswith("kqzwx-") and client not in alias
    assert aliases.show(alias) == client
    assert ClientAliases("kqzwx", "other").hide(client) != alias
    assert ClientAliases().hide(client) == client == ClientAliases().show(client)


@pytest.mark.parametrize("theirs", ["rdkafka", "kqzwx-", "kqzwx-!", "kqzwx-1", "", "kqzwx-\ufffd"])
def test_clients_of_others_are_called_what_they_call_themselves(theirs: str) -> None:
    assert ClientAliases("kqzwx", "salt").show(theirs) in (theirs, "")


@pytest.mark.parametrize(
    "case", ["groups/described", "transactions/markers", "produce/base-offset", "protocol/no-client-id"]
)
def test_nothing_that_a_case_sends_names_the_suite_or_the_case(tmp_path: Path, case: str) -> None:
    world = InProcess(tmp_path)
    prefix = naming.unused(1, ())
    case_context = CaseContext(
        prefix=prefix, case=case, salt="s", client_id=ClientAliases(prefix, "s").hide("probe"), latency_ms=0.1
    )
    sent: list[bytes] = []
    send = world.send
    world.send = lambda connection, frame, *about: (sent.append(bytes(frame)), send(connection, frame, *about))[1]
    wire = Wire(world, case_context, [world.address])
    try:
        assert attempt(by_id()[case], wire, world, {NODE: world}, lambda: True).verdict is Verdict.PASS
    finally:
        world.end()
    hints = (*HINTS, *(word.encode() for word in case.split("/")))
    assert sent and not [(hint, frame) for frame in sent for hint in hints if hint in frame]


def test_the_proxy_around_a_whole_run_reads_the_names_of_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(FaultProxy, "start", lambda *_, **settings: started.append(settings))
    RunWideFaults(Schedule(), refute=True).open([("h", 9)], {}, 7, ("kqzwx", "salt"))
    assert started[0]["aliases"] == ("kqzwx", "salt")


def test_only_what_was_written_down_is_deleted(tmp_path: Path) -> None:
    journal = NameJournal(tmp_path)
    ours, theirs = "bt-x-order-1", "bt-x-order-2"
    journal.add(ours)
    with (tmp_path / NAMES).open("ab") as file:
        file.write(b'"bt-x-or')  # the machine went down
    deleted: list[str] = []

    def metadata(asked):
        rows = [{"name": name, "partitions": []} for name in (ours, theirs, "orders")]
        return response("Metadata", brokers=[{"node_id": 1, "host": "h", "port": 9}], topics=rows)

    def delete(asked):
        deleted.extend(row.name for row in asked.topics)
        return response("DeleteTopics", responses=[{"name": row.name} for row in asked.topics])

    def groups(asked):
        return response("ListGroups", groups=[])

    wire, _ = wire_to(Metadata=metadata, DeleteTopics=delete, ListGroups=groups)
    assert clean(wire, NameJournal(tmp_path).names()) == ([ours], [])
    assert deleted == [ours]


def test_names_are_written_down_before_they_are_made_and_only_ours() -> None:
    wire, _ = wire_to()
    told: list[str] = []
    wire.journal = told.append
    wire.will_make(wire.made_groups, "bt-x-order-1", "orders")
    wire.will_make(wire.made_groups, "bt-x-order-1")
    assert told == wire.made_groups == ["bt-x-order-1"]


def test_reports_show_the_short_name_and_say_which_it_stands_for() -> None:
    wire, _ = wire_to()
    topic = wire.name()
    text = f"Produce v9\n  topic  {topic}\n  other  {topic}.a"
    outcome = naming.shortened(failed("statement", f"topic {topic} is gone", (Evidence("request", text),)), wire.named)
    assert outcome.reason.sentence == outcome.failures[0].sentence == "topic t1 is gone"
    assert outcome.evidence[0].text == "Produce v9\n  topic  t1\n  other  t1.a"
    assert outcome.facts["names"] == f"t1 = {topic}"
    assert SCENE.prefix in topic
