"""Where a broker tells clients to find it (advertised.listeners)."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.reference_impl.settings.setting import InvalidSetting


@pytest.mark.parametrize(
    ("listeners", "place"),
    [
        ("", None),
        ("CLIENTS://localhost:9092", ("localhost", 9092)),
        ("CLIENTS://10.0.0.1:9092,BROKERS://10.0.0.2:9093", ("10.0.0.1", 9092)),
    ],
)
def test_the_first_listener_is_that_of_the_clients(listeners: str, place: tuple[str, int] | None, tmp_path: Path):
    assert BrokerConfig(tmp_path, settings={"advertised.listeners": listeners}).advertised == place


@pytest.mark.parametrize("listeners", ["localhost:9092", "CLIENTS://localhost", "CLIENTS://:9092", "://a:1", ","])
def test_what_names_no_place_is_refused(listeners: str, tmp_path: Path):
    with pytest.raises(InvalidSetting, match=r"advertised\.listeners must be NAME://HOST:PORT"):
        BrokerConfig(tmp_path, settings={"advertised.listeners": listeners})
