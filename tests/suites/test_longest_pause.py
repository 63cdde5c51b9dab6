"""The longest pause beside a verdict: between acknowledgements, whatever errors came back meanwhile."""

import msgspec

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.schedule import Windows
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from brokertrial.suites.case import Case
from brokertrial.suites.trials.facts import KIND, TrialFacts
from brokertrial.suites.trials.verdict import judged

SECOND = 1_000_000_000


def function():
    """It MUST hold."""


CASE = Case("chaos/case", function, ("prod-002",), (), {}, {}, False, None)


def facts(tmp_path, outcomes):
    """Sends that return a second apart."""
    schedule = msgspec.to_builtins(Windows(drop_response(api="Produce", times=3)))
    header = Header(case="chaos/case", target="t", nodes=1, schedule=schedule, settings={"length": 1})
    with Recorder.create(tmp_path / "h", header) as recorder:
        recorder.add(Client(client="w", library="librdkafka", acks=-1, idempotence=True))
        for op, outcome in enumerate(outcomes, 1):
            recorder.add(
                Operation(
                    op=op,
                    client="w",
                    kind="send",
                    topic="t",
                    partition=0,
                    call_ns=0,
                    return_ns=op * SECOND,
                    outcome=outcome,
                )
            )
        recorder.event(KIND, seen=msgspec.to_builtins(TrialFacts(warm=True, acked=2, hits={"f1": 3})))
    return judged(CASE, History.open(tmp_path / "h")).facts


def test_errors_that_come_back_do_not_shorten_it(tmp_path):
    assert facts(tmp_path, ["ok", "info", "fail", "ok"])["longest_pause_s"] == 3.0


def test_every_acknowledgement_does(tmp_path):
    assert facts(tmp_path, ["ok", "ok", "ok", "ok"])["longest_pause_s"] == 1.0
