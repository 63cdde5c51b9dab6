"""comparison.json: what the pages show, for programs. Members may be added; none changes its meaning in a format.

Lists in guarantees, faults and cases have a place for each target, in the order of `targets`; what only some targets
have is in an object by the key of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.comparison import Comparison
from brokertrial.ci.comparison.differences import Difference
from brokertrial.ci.comparison.matrix import Cell, Row
from brokertrial.ci.comparison.price import PriceCell
from brokertrial.ci.comparison.severity import WORDS, harm_of
from brokertrial.ci.comparison.standing import standing_of
from brokertrial.suites.result import CaseResult

FORMAT = 2
"""2: lists with a place for each target, where there was an object for each cell."""


def text(comparison: Comparison) -> str:
    """The whole file."""
    return msgspec.json.encode(content(comparison)).decode() + "\n"


def content(comparison: Comparison) -> dict[str, Any]:
    """The whole as plain data."""
    reasons: dict[str, int] = {}
    return {
        "format": FORMAT,
        "targets": [_target(column, comparison, place) for place, column in enumerate(comparison.columns)],
        "unlike": [
            {"what": each.what, "values": {value: list(names) for value, names in each.values}, "cost": each.cost}
            for each in comparison.unlike
        ],
        "guarantees": [_row(row) for row in comparison.rows],
        "cases": _cases(comparison, reasons),
        "reasons": list(reasons),
        "faults": [
            {"kind": row.kind, "fault": row.text, "cases": list(row.cases), **_cells(row.cells)}
            for row in comparison.faults
        ],
        "faults_never_tried": list(comparison.faults_never_tried),
        "features": {
            row.feature: {
                each.cell.column.key: {"claim": each.claim, **_cell(each.cell), "standing": each.standing,
                                       "broken_promise": each.broken_promise}
                for each in row.cells
            }
            for row in comparison.features
        },
        "prices": _prices(comparison),
        "changes": [
            {
                "before": step.before.key,
                "after": step.after.key,
                "unchanged": step.unchanged,
                "cases": [_difference(each) for each in step.differences],
            }
            for step in comparison.steps
        ],
    }  # fmt: skip


def _target(column: Column, comparison: Comparison, place: int) -> dict[str, Any]:
    return {
        "key": column.key,
        "name": column.name,
        "target": column.run.target,
        "version": column.run.target_version,
        "product": column.product,
        "run": column.place,
        "sha256": column.sha256,
        "started_at": column.run.started_at,
        "suite_version": column.suite_version,
        "profile": column.run.profile,
        "seed": column.run.seed,
        "nodes": column.nodes,
        "machine": dict(column.host),
        "interrupted": column.end.interrupted,
        "claims": dict(column.run.claims),
        "guarantees": {str(standing): count for standing, count in comparison.counts(place).items()},
        "notes": {"by": column.notes.by, "text": column.notes.text, "link": column.notes.link},
    }


def _row(row: Row) -> dict[str, Any]:
    entry = row.guarantee
    return {
        "id": entry.id,
        "area": entry.area,
        "level": entry.level,
        "statement": entry.statement,
        "source": entry.source,
        "link": entry.link,
        "cases": list(row.cases),
        **_cells(row.cells),
    }


def _cells(cells: Sequence[Cell]) -> dict[str, Any]:
    """The cells of a row: `decided` cases of all passed or failed, `kept` passed."""
    leading = {cell.column.key: cell.leading for cell in cells}
    return {
        "standing": [cell.standing for cell in cells],
        "kept": [cell.kept for cell in cells],
        "decided": [cell.decided for cell in cells],
        "harm": {cell.column.key: WORDS[cell.harm] for cell in cells if cell.harm is not None},
        "case": {key: result.case for key, result in leading.items() if result is not None and result.reason},
    }


def _cell(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {"standing": cell.standing, "kept": cell.kept, "decided": cell.decided, "cases": cell.cases}
    if cell.harm is not None:
        found["harm"] = WORDS[cell.harm]
    if cell.leading is not None and cell.leading.reason is not None:
        found["case"] = cell.leading.case
    return found


def _cases(comparison: Comparison, reasons: dict[str, int]) -> dict[str, Any]:
    """Case -> what it came to, null where a run did not meet it, and why by target where it is not clean.

    A reason is a place in `reasons`, since many cases have the same.
    """
    columns = comparison.columns
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for column in columns for name in column.by_case):
        met = {column.key: result for column in columns if (result := column.by_case.get(name)) is not None}
        found[name] = {
            "standing": [standing_of(met[column.key]) if column.key in met else None for column in columns],
            "why": {key: told for key, result in met.items() if (told := _why(result, reasons))},
        }
    return found


def _why(result: CaseResult, reasons: dict[str, int]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if (harm := harm_of(result)) is not None:
        told |= {"harm": WORDS[harm], "failures": [failure.signature for failure in result.failures[:5]]}
    if result.reason is not None:
        told["reason"] = reasons.setdefault(f"{result.reason.kind}: {result.reason.sentence[:300]}", len(reasons))
    return told


def _difference(each: Difference) -> dict[str, Any]:
    return {"case": each.case, "change": each.change}


def _prices(comparison: Comparison) -> dict[str, Any]:
    prices = comparison.prices
    keys = [column.key for column in comparison.columns]
    return {
        "baseline": prices.baseline.key if prices.baseline else None,
        "not_comparable": {key: why for key, why in zip(keys, prices.why_not, strict=True) if why},
        "load": dict(zip(keys, prices.loads, strict=True)),
        "faults": {row.kind: dict(zip(keys, map(_price, row.cells), strict=True)) for row in prices.rows},
    }


def _price(cell: PriceCell) -> Any:
    return None if cell.summary is None else {"summary": cell.summary, "gap": cell.gap, "recovery": cell.recovery}
