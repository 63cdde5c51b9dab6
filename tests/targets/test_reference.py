"""The bundled broker as a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.targets import UnknownTarget, open_target, readiness


def test_it_serves_and_comes_back(tmp_path: Path) -> None:
    with open_target("reference", tmp_path) as target:
        node = target.nodes[1]
        assert target.claims["transactions"] is True and target.claims["share-groups"] is False
        node.kill()
        node.restart()
        assert readiness.ask(node.address).brokers == {1: node.address}


def test_without_keeps_the_claim(tmp_path: Path) -> None:
    with open_target("reference?without=EndTxn", tmp_path) as target:
        assert target.claims["transactions"] is True


def test_a_misspelt_bug_is_never_a_clean_broker(tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match=r"`M99x` is no planted bug"):
        open_target("reference?mutant=M99x", tmp_path).start()


def test_a_planted_bug_starts(tmp_path: Path) -> None:
    with open_target("reference?mutant=M19a", tmp_path) as target:
        assert target.alive()
