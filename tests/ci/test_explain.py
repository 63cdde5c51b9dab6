"""The story of one anomaly: the promise, the few operations, the picture; and plain words where there is none."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from msgspec import structs

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import judge
from brokertrial.ci.cli import main
from brokertrial.ci.commands.explain import FoundAnomaly, chosen, counted
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.counterexample import counterexample
from brokertrial.ci.reports.evidence import EvidenceTimeline, TimelineEntry, TimelineFault
from brokertrial.ci.reports.evidence_picture import MOST, draw
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Event, Operation, Record

START = 1_000_000_000_000
VALUES = 60
NAME = "qzxwv-lake-lamp-41"
"""What the broker calls the topic `t`."""


def _header() -> Header:
    return Header(case="tests/explain", target="a broker", nodes=3, seed=5, settings={"named": {NAME: "t"}})


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in which one of sixty records is lost while a fault is active."""
    folder = tmp_path_factory.mktemp("explain") / "h"
    with Recorder.create(folder, _header()) as recorder:
        recorder.title.started_ns = START
        recorder.add(Client(client="p", library="librdkafka", acks=-1, idempotence=True))
        recorder.add(Client(client="r", library="librdkafka", isolation="read_uncommitted", mode="assign"))
        place = {"topic": NAME, "partition": 0, "outcome": "ok"}
        for value in range(VALUES):
            call = START + value * 1_000_000
            recorder.add(
                Operation(
                    op=value,
                    client="p",
                    kind="send",
                    call_ns=call,
                    return_ns=call + 500,
                    base_offset=value,
                    count=1,
                    **place,
                )
            )
            recorder.add(Record(op=value, client="p", side="sent", offset=value, value=value, position=value, **place))
        late = START + 1_000_000_000
        recorder.add(Operation(op=100, client="r", kind="poll", call_ns=late, return_ns=late + 9, **place))
        before = -1
        for number, value in enumerate(value for value in range(VALUES) if value != 41):
            recorder.add(
                Record(
                    op=100, client="r", side="seen", offset=value, value=value, stream=1, position=number,
                    prev_offset=before, **place
                )
            )  # fmt: skip
            before = value
        recorder.add(
            Event(
                kind="window-begin",
                window="f1",
                at_ns=START + 30_000_000,
                fields=f'{{"text": "kill leader({NAME},0)"}}',
            )
        )
        recorder.add(Event(kind="window-healed", window="f1", at_ns=START + 50_000_000))
    return folder


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["explain", *arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def test_they_are_listed_with_what_does_not_count(lossy, capsys):
    status, out, _ = told(capsys, str(lossy), "--list")

    assert status == 0
    assert re.search(r"^ +1  lost-write  \[prod-002\]  Value 41 ", out, re.M)
    assert "in all: " in out and f"Explain one: brokertrial explain {lossy} NUMBER" in out


def test_without_an_anomaly_the_first_is_explained(lossy, capsys, tmp_path):
    status, out, _ = told(capsys, str(lossy), "--html", str(tmp_path / "page.html"))

    assert status == 0
    assert out.startswith("lost-write (1 of ") and "Minimised from 61 operations" in out


def test_what_does_not_count_is_marked_and_counted():
    guilty = FoundAnomaly(_anomaly(), True, True)
    other, listed = guilty._replace(counts=False), FoundAnomaly(_anomaly(), False, False)
    assert (guilty.note, listed.note) == ("", "  (informational)")
    assert other.note == "  (not counted against the broker)"
    assert counted([guilty]) == "1 in all: 1 counts against the broker."
    assert counted([guilty, guilty, other]) == "3 in all: 2 count against the broker, 1 does not."
    assert counted([listed, other]) == "2 in all: 0 count against the broker, 2 do not."


def test_the_story_and_the_page(lossy, capsys, tmp_path):
    page = tmp_path / "page.html"
    status, out, err = told(capsys, str(lossy), "lost-write", "--html", str(page))

    assert status == 0, err
    for words in ("Guarantee", "https://kafka.apache.org/", "Value 41", "Minimised from 61 operations to 2 operations",
                  "Caused by: broker.", "Not a linearizability property; no Porcupine model applies.",
                  "f1 kill leader(t,0)", "(op 41)  <- evidence", "(op 100)  <- evidence", str(page)):  # fmt: skip
        assert words in out
    assert NAME not in out.replace(str(page), "") and NAME not in page.read_text(encoding="utf-8")
    html = page.read_text(encoding="utf-8")
    picture = re.search(r"<svg class=.proof.*</svg>", html, re.S)
    assert picture and "value 41 at 41" in picture.group() and "value 42 at 42 (after 40)" in picture.group()
    assert ElementTree.fromstring(picture.group()).tag == "svg"
    assert "http" not in re.sub(r'href="[^"]*"', "", html).replace("https://kafka.apache.org", "")
    assert list(tmp_path.iterdir()) == [page], "nothing else is left behind"


def test_a_name_that_is_not_there_and_a_number_too_high(lossy, capsys):
    status, _, err = told(capsys, str(lossy), "lost-writes")
    assert status == 4 and "Did you mean lost-write" in err

    status, _, err = told(capsys, str(lossy), "99")
    assert status == 4 and "counted from 1" in err

    with pytest.raises(UserError, match="nothing to explain"):
        chosen("1", [])


def test_a_page_that_cannot_be_written_is_said(lossy, capsys, tmp_path):
    status, _, err = told(capsys, str(lossy), "1", "--html", str(tmp_path / "none" / "page.html"))

    assert status == 4 and "cannot be written" in err


def test_a_call_that_never_returned_and_a_call_too_many_are_drawn():
    open_end = TimelineEntry("p<1>", 5, None, "send", "t-0  value 1 & 2", "info", 1, True)
    crowd = [TimelineEntry("r", 10 * number, 10 * number + 5, "poll", "t-0", "ok", number) for number in range(2, 90)]
    proof = EvidenceTimeline(_anomaly(), 0, (open_end, *crowd), (TimelineFault(0, 50, "f1 pause"),))
    drawn = draw(proof)

    assert ElementTree.fromstring(drawn).tag == "svg"
    assert drawn.count('<rect class="call') == MOST
    assert 'class="open"' in drawn and "p&lt;1&gt;" in drawn and "f1 pause" in drawn


def test_the_report_of_a_failed_case_has_the_picture(lossy):
    anomaly = judge(History.open(lossy), ["lost-write"]).anomalies[0]

    found = counterexample(lossy, anomaly, patience_s=60.0)
    picture = found.picture
    assert found.size == "Minimised from 61 operations to 2 operations; removing any one hides the anomaly."
    assert "value 41 at 41" in picture and ">t-0<" in picture and "kill leader(t,0)" in picture
    assert NAME not in picture and "-1/-1" not in picture
    unlike = counterexample(lossy, structs.replace(anomaly, offsets=(7,)), patience_s=60.0)
    assert unlike.picture == "" and unlike.size.startswith("Not minimised: lost-write does not follow")
    missing = counterexample(lossy / "none", anomaly, patience_s=60.0)
    assert missing.picture == "" and missing.size.startswith("The history cannot be read: ")


def test_nothing_with_a_time_draws_nothing():
    assert draw(EvidenceTimeline(_anomaly(), 0, (TimelineEntry("wire", None, None, "batch", "t-0"),), ())) == ""


def _anomaly():
    return Anomaly(name="lost-write", guarantee="prod-002", topic="t", partition=0, offsets=(1,), values=(1,),
                   operations=(1,), sentence="Gone.", strength="durability", attribution="broker")  # fmt: skip
