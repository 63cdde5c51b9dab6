"""Many histories by target and version: counts add up, and each kind of fault stands under the target that met it."""

from brokertrial.histories.availability import FaultCost, Profile
from brokertrial.spark_analysis.results import CaseRow, Results, anomalies_of, availability_of, by_target


def history(target: str, version: str, verdict: str, gap_s: float | None = None, **totals: int) -> CaseRow:
    profile = None
    if gap_s is not None:
        cost = FaultCost(
            window="f1", kind="kill", text="kill", begin_s=0, healed_s=1, gap_s=gap_s, recovered_s=None,
            p99_before_ms=None, p99_during_ms=None,
        )  # fmt: skip
        profile = Profile(
            acknowledged=1, length_s=1, per_second=1, p50_ms=1, p90_ms=1, p99_ms=1, p999_ms=1, longest_gap_s=gap_s,
            windows=(cost,),
        )  # fmt: skip
    return CaseRow(
        place="p", run="r", case="a/b", target=target, target_version=version, verdict=verdict, totals=totals,
        profile=profile,
    )  # fmt: skip


def test_each_version_of_each_target_has_a_row() -> None:
    cases = [
        history("kafka", "4.4.0", "pass", 2.0),
        history("kafka", "3.9.2", "pass"),
        history("mine", "1.0", "fail", 9.0, duplicate=3),
        history("mine", "1.0", "inconclusive", 1.0, duplicate=1, unseen=2),
    ]
    rows = {(row.target, row.target_version): row for row in by_target(cases)}
    assert list(rows) == [("kafka", "3.9.2"), ("kafka", "4.4.0"), ("mine", "1.0")]
    mine = rows["mine", "1.0"]
    assert (mine.histories, mine.verdicts) == (2, {"fail": 1, "inconclusive": 1})
    assert mine.totals == {"duplicate": 4, "unseen": 2}
    assert [(kind.kind, kind.windows, kind.longest_gap_s) for kind in mine.kinds] == [("kill", 2, 9.0)]
    assert rows["kafka", "3.9.2"].kinds == []
    assert sum(row.histories for row in rows.values()) == len(cases)


def test_the_tables_have_both_dimensions() -> None:
    results = Results(
        master="local", seconds=0, cases=[history("mine", "1.0", "fail", 9.0)], refused={}, kinds=[], targets=[],
        proven=(), unproven=(), wrong=(),
    )  # fmt: skip
    assert {(row["target"], row["target_version"]) for row in availability_of(results).to_pylist()} == {("mine", "1.0")}
    assert "target_version" in anomalies_of(results).schema.names
