"""The search, also over models of objects that the program judges by other means, or not at all."""

from brokertrial.checkers.linearizability.search.engine import search
from brokertrial.checkers.linearizability.search.model import Specification
from brokertrial.checkers.linearizability.search.question import Question, SearchResult
from tests.search.models import chains, keyvalue, ownership

OTHERS = {
    each.NAME: Specification(each.NAME, each.start, each.step, getattr(each, "part", None))
    for each in (chains, keyvalue, ownership)
}


def judged(question: Question, **limits: int) -> SearchResult:
    """What the search finds."""
    return search(question, OTHERS.get(question.model), **limits)
