"""How a case ends when nothing answers any more: what is cleared away is not waited for again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from inspect import getsourcefile, getsourcelines
from pathlib import Path
from typing import Any

import pytest

from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.running.cleanup import HURRIED_S, CleanupProbe, remove_created
from brokertrial.suites.trials import clients as of_clients
from brokertrial.suites.trials.clients import Clients
from brokertrial.suites.trials.context import TrialContext
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload
from brokertrial.wire.messages import response
from tests.suites.scripted import SCENE, TOPIC, ScriptedExchanger, api_versions

GROUPS = ["bt-x-g1", "bt-x-g2", "bt-x-g3"]


def found(asked: Any) -> Any:
    named = [{"key": key, "node_id": 1, "host": "h", "port": 9} for key in asked.coordinator_keys]
    return response("FindCoordinator", coordinators=named)


def cleanup_probe(**handlers: Any) -> tuple[CleanupProbe, ScriptedExchanger]:
    exchanger = ScriptedExchanger(FindCoordinator=found, **handlers)
    made = CleanupProbe(exchanger, SCENE, [("h", 9)])
    made.made_topics, made.made_groups = [TOPIC], list(GROUPS)
    return made, exchanger


def deleted(asked: Any) -> Any:
    return response("DeleteTopics", responses=[{"name": row.name, "error_code": 0} for row in asked.topics])


def refused(asked: Any) -> Any:
    return response("DeleteGroups", results=[{"group_id": name, "error_code": 69} for name in asked.groups_names])


def test_a_silent_broker_is_asked_once() -> None:
    wire, exchanger = cleanup_probe(DeleteTopics=deleted, DeleteGroups=lambda asked: None)
    remove_created(wire)
    assert exchanger.seen.count("DeleteGroups") == 1
    assert wire.made_groups == [] and wire.made_topics == []


def test_one_that_refuses_is_asked_for_the_rest() -> None:
    wire, exchanger = cleanup_probe(DeleteTopics=deleted, DeleteGroups=refused)
    remove_created(wire)
    assert exchanger.seen.count("DeleteGroups") == len(GROUPS)


def test_in_a_hurry_the_answer_is_waited_for_no_longer_than_said() -> None:
    wire, exchanger = cleanup_probe(ApiVersions=lambda asked: None)
    wire.hurried = True
    remove_created(wire)
    assert exchanger.ns < (HURRIED_S + 1) * 1e9
    patient, other = cleanup_probe(ApiVersions=lambda asked: None)
    remove_created(patient)
    assert other.ns > 2 * exchanger.ns


def test_no_connection_is_no_silence() -> None:
    wire, exchanger = cleanup_probe(ApiVersions=api_versions)
    exchanger.refuse = {"main"}
    remove_created(wire)
    assert [entry.kind for entry in exchanger.tape] == ["refused"] * (1 + len(GROUPS))


class Deaf(Workload):
    """Two clients that do not hear the word to stop."""

    released = threading.Event()

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan(),)

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        return [Actor(name, context, lambda: [None, self.released.wait()][0]) for name in ("a", "b")]

    def must_move(self, context: WorkloadContext) -> list[str]:
        return []


class NoLinks:
    """In place of a proxy."""

    bootstrap = "127.0.0.1:1"

    def saw_client_statistics(self, client: str, text: str) -> None:
        raise AssertionError("nobody connects")


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Clients]:
    Deaf.released.clear()
    case_context = CaseContext(
        prefix="bt-x", case="tests/case", latency_ms=1.0, leaderless=True
    )  # so that no watcher asks
    with Recorder.create(tmp_path / "history", Header(case="tests/ending", target="nobody")) as recorder:
        trial_context = TrialContext(
            case_context=case_context,
            recorder=recorder, node_controls={}, wire=lambda name="": None, bootstrap=[], reach={},
            topics={}, names={}, alive=lambda: True, emit=lambda event: None, journal=tmp_path / "journal",
        )  # type: ignore[arg-type]  # fmt: skip
        clients = Clients(Deaf(), trial_context, NoLinks())  # type: ignore[arg-type]
        clients.start()
        yield clients
        Deaf.released.set()


def test_all_clients_together_have_one_limit_that_is_named(deaf: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deaf, "_stop_s", 0.2)
    waited: list[float | None] = []
    join = threading.Thread.join
    monkeypatch.setattr(Actor, "join", lambda self, timeout=None: (waited.append(timeout), join(self, timeout)))
    unended = [sentence.partition(", it is in ")[0] for sentence in deaf.stop()]
    assert unended == ["client a did not end within 0.2 s", "client b did not end within 0.2 s"]
    assert sum(limit or 0 for limit in waited) < 0.3


def test_an_interrupted_trial_waits_for_no_client(deaf: Clients) -> None:
    deaf.give_up()
    assert deaf.context.problems == ["the run was interrupted"], "by which writers know that nobody waits for answers"

    def asked() -> bool:
        raise AssertionError("a silent target would take 20 s to answer")

    assert deaf.stop(asked)[0].startswith(f"client a did not end within {of_clients.GIVE_UP_S:g} s")


def test_who_does_not_end_is_told_with_the_line_that_it_does_not_come_back_from(
    deaf: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deaf, "_stop_s", 0.2)
    file, lines = getsourcefile(Actor), getsourcelines(Actor.run)
    calls = lines[1] + next(n for n, line in enumerate(lines[0]) if "self._act()" in line)
    assert deaf.stop()[1].endswith(f", it is in `self._act()` ({Path(str(file)).name}, line {calls})")
