"""What a judgement found, as one JSON object and as text: judged, and permitted by the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement
from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.formats.legend import Legend
from brokertrial.suites.exit_status import ExitStatus

STRICT = "--strict also judges what Kafka permits: for tests of checkers, not of brokers."
STATUS: dict[Verdict, int] = {
    Verdict.PASS: ExitStatus.PASSED,
    Verdict.FAIL: ExitStatus.FAILED,
    Verdict.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE: ExitStatus.NOTHING_JUDGED,
}
LINES = 20
"""Anomalies of one name that the text shows; the JSON object has all that the judgement lists."""


class ListedAnomaly(msgspec.Struct, frozen=True):
    """One anomaly; `judged` false: listed, but the settings permit it."""

    anomaly: Anomaly
    judged: bool
    case: str | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of one history, or of all histories of a run."""

    verdict: Verdict
    found: Sequence[ListedAnomaly]
    reasons: dict[str, str] = {}
    totals: dict[str, int] = {}
    strict: bool = False
    legend: Legend | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return STATUS[self.verdict]

    def as_json(self) -> str:
        """One object on one line; with --strict it begins with what that means."""
        page: dict[str, Any] = {"strict": STRICT} if self.strict else {}
        page["verdict"] = str(self.verdict)
        page["anomalies"] = [self._entry(finding) for finding in self.found]
        page["totals"] = self.totals
        page["reasons"] = [{"name": name, "sentence": sentence} for name, sentence in self.reasons.items()]
        return msgspec.json.encode(page).decode()

    def _entry(self, finding: ListedAnomaly) -> dict[str, Any]:
        anomaly, entry = finding.anomaly, dict[str, Any](name=finding.anomaly.name, judged=finding.judged)
        entry["guarantee"] = anomaly.guarantee
        if self.legend is not None and self.legend.keyed and anomaly.topic is not None:
            entry["key"] = self.legend.key_of(anomaly.topic)
        else:
            entry["topic"] = anomaly.topic
        entry["partition"] = anomaly.partition
        entry["offsets"] = list(anomaly.offsets)
        entry["values"] = self._values(anomaly)
        entry["operations"] = list(anomaly.operations)
        entry["sentence"] = self._sentence(anomaly)
        if anomaly.group is not None:
            entry["group"] = anomaly.group
        if anomaly.attribution != "broker":
            entry["attribution"] = anomaly.attribution
        if finding.case is not None:
            entry["case"] = finding.case
        return entry

    def _sentence(self, anomaly: Anomaly) -> str:
        return anomaly.sentence if self.legend is None else self.legend.in_words(anomaly.sentence, anomaly.values)

    def _values(self, anomaly: Anomaly) -> list[Any]:
        return [value if self.legend is None else self.legend.value_of(value) for value in anomaly.values]

    def print(self) -> None:
        """For a terminal, the verdict last."""
        if self.strict:
            click.echo(STRICT)
        for judged, title in ((True, "Found"), (False, "Allowed by the client settings")):
            self._print_part(title, [finding.anomaly for finding in self.found if finding.judged is judged])
        for name, sentence in self.reasons.items():
            click.echo(f"No pass: {name}: {sentence}")
        counts = [sum(finding.judged is judged for finding in self.found) for judged in (True, False)]
        click.echo(f"{str(self.verdict).upper()}: {counts[0]} anomalies, {counts[1]} informational")

    def _print_part(self, title: str, anomalies: Sequence[Anomaly]) -> None:
        if not anomalies:
            return
        click.echo(f"{title}:")
        for name, some in _by_name(anomalies).items():
            for anomaly in some[:LINES]:
                click.echo(f"  {name}  [{anomaly.guarantee}]  {self._sentence(anomaly)}")
                if values := self._values(anomaly):
                    click.echo(f"    values {', '.join(map(str, values))}")
            if len(some) > LINES:
                click.echo(f"    and {len(some) - LINES} more; --json lists them.")


def _by_name(anomalies: Iterable[Anomaly]) -> dict[str, list[Anomaly]]:
    groups: dict[str, list[Anomaly]] = {}
    for anomaly in anomalies:
        groups.setdefault(anomaly.name, []).append(anomaly)
    return groups


def findings_of(judgement: Judgement, strict: bool = False, legend: Legend | None = None) -> Findings:
    """The verdict on one history: what is broken, then what withholds a pass, then whether anything was judged."""
    found = [ListedAnomaly(anomaly, True) for anomaly in judgement.anomalies]
    found += [ListedAnomaly(anomaly, strict) for anomaly in judgement.permitted]
    reasons = {name.rpartition("/")[2]: sentence for name, sentence in judgement.inconclusive.items()}
    for finding in found:
        if finding.judged and finding.anomaly.attribution != "broker":
            reasons.setdefault(finding.anomaly.name, "the history does not show whether the broker or a client did it")
    return Findings(
        verdict=_verdict(judgement, found, reasons),
        found=found,
        reasons=reasons,
        totals={name.rpartition("/")[2]: total for name, total in judgement.totals.items()},
        strict=strict,
        legend=legend,
    )


def _verdict(judgement: Judgement, found: Sequence[ListedAnomaly], reasons: dict[str, str]) -> Verdict:
    if any(finding.judged and finding.anomaly.attribution == "broker" for finding in found):
        return Verdict.FAIL
    if reasons:
        return Verdict.INCONCLUSIVE
    return Verdict.PASS if judgement.judged else Verdict.NOT_APPLICABLE
