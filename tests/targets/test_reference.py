"""The bundled broker as a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.targets import UnknownTarget, open_target, readiness


def test_it_serves_and_comes_back(tmp_path: Path) -> None:
    with open_target("reference", tmp_path) as target:
        node = target.nodes[0]
        assert target.claims["transactions"] is True and target.claims["share-groups"] is False
        node.kill()
        node.restart()
        assert readiness.ask(node.address).brokers == {0: node.address}


def test_without_keeps_the_claim(tmp_path: Path) -> None:
    with open_target("reference?without=EndTxn", tmp_path) as target:
        assert target.claims["transactions"] is True


@pytest.mark.parametrize(
    ("release", "later"), [("2.1", {"configs", "consumer-protocol"}), ("3.9", {"consumer-protocol"})]
)
def test_an_emulated_release_claims_nothing_that_came_after_it(tmp_path: Path, release: str, later: set[str]) -> None:
    of_today = open_target("reference", tmp_path / "today").claims
    target = open_target(f"reference?emulate={release}", tmp_path / "then")
    assert of_today.keys() - target.claims.keys() == later
    with target:
        session = TargetSession(target, tmp_path, seed=1, profile="smoke", claims={}, emit=lambda event: None)
        session.open()
        assert session.broken_promises() == []


def test_a_misspelt_bug_is_never_a_clean_broker(tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match=r"`M99x` is no planted bug"):
        open_target("reference?mutant=M99x", tmp_path).start()


def test_a_planted_bug_starts(tmp_path: Path) -> None:
    with open_target("reference?mutant=M19a", tmp_path) as target:
        assert target.alive()
