"""What the page of one case says once, for all targets: its statement, who stands how with it, where it passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.evidence import Article
from brokertrial.ci.comparison.matrix import why_left_out
from brokertrial.ci.comparison.standing import NEEDS_A_LOOK, ORDER, Standing, standing_of
from brokertrial.suites.events import CaseInfo


@dataclass(frozen=True)
class Group:
    """The targets to which a case is the same thing for the same reason."""

    standing: Standing
    why: str
    """Only where there is no article that says it."""
    columns: tuple[Column, ...]

    @property
    def has_articles(self) -> bool:
        return self.standing in NEEDS_A_LOOK


@dataclass(frozen=True)
class CasePage:
    """One case that is not clean everywhere."""

    case: str
    articles: tuple[Article, ...]
    columns: tuple[Column, ...]

    @property
    def info(self) -> CaseInfo | None:
        """The case as the first run declares it that does."""
        name = self.case.partition("@")[0]
        return next((info for column in self.columns for info in column.run.cases if info.case == name), None)

    @property
    def statement(self) -> str:
        """That of the case. A failure of the closing look has one of its own, which its article says."""
        return self.info.statement if self.info else self.articles[0].result.statement

    @property
    def guarantees(self) -> tuple[str, ...]:
        """Those of the case, then what else is broken where it fails."""
        own = self.info.guarantees if self.info else ()
        return tuple(dict.fromkeys((*own, *(name for each in self.articles for name in each.result.guarantees))))

    @property
    def proof(self) -> str:
        """What entitles the case to accuse, where it is the same for all articles."""
        told = {each.proof for each in self.articles}
        return told.pop() if len(told) == 1 else ""

    @property
    def groups(self) -> list[Group]:
        """All targets, the worst standing first."""
        found: dict[tuple[Standing, str], list[Column]] = {}
        for column in self.columns:
            found.setdefault(_standing(column, self.case), []).append(column)
        return [
            Group(standing, why, tuple(some))
            for (standing, why), some in sorted(found.items(), key=lambda item: (ORDER.index(item[0][0]), item[0][1]))
        ]


def _standing(column: Column, case: str) -> tuple[Standing, str]:
    result = column.by_case.get(case)
    if result is None:
        return Standing.UNTRIED, why_left_out(column, case)
    standing = standing_of(result)
    if result.reason is None or standing in (*NEEDS_A_LOOK, Standing.KEPT):
        return standing, ""
    return standing, result.reason.sentence


def case_pages(columns: Sequence[Column], articles: Mapping[str, list[Article]]) -> list[CasePage]:
    """A page for each case that has an article."""
    return [CasePage(case, tuple(some), tuple(columns)) for case, some in articles.items()]
