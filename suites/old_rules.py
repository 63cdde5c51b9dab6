"""Rules that Apache Kafka made after 2.8 and by 3.3, its first release in KRaft mode: cases that bind no older one.

They stand here and not in the declarations of their cases: each release that cases are proven on keeps them all."""

from __future__ import annotations

SINCE: dict[str, tuple[str, ...]] = {
    "3.0 (KIP-345)": ("groups/asked-in-every-state",),  # one check of a member for all requests (pull request 9958)
    "3.1 (KAFKA-8522)": (  # KIP-534: how long it stays counts from when the cleaner has seen it first
        "compaction/markers-stay-and-go",
        "compaction/tombstones-wherever-they-lie",
    ),
    "3.2 (KAFKA-13552)": ("admin/settings-said-twice",),  # a topic that is named twice is refused
    "3.3 (KAFKA-12613)": (  # brokers refuse defaults that topics cannot have
        "admin/brokers-take-what-topics-can-have",
        "admin/settings-of-brokers-and-topics",
        "admin/settings-of-brokers-over-restarts",
    ),
    "3.3 (KAFKA-13862)": ("admin/lists-grow-and-shrink",),  # APPEND skips what is there, and begins an empty list well
    "3.3 (KAFKA-13863)": ("admin/each-wrong-row-of-creation",),  # a setting without a value is 40
    "3.3 (KAFKA-13899)": (  # a bad value is 40 where settings are changed too; it was 42
        "admin/each-wrong-change",
        "admin/many-in-one-request",
        "admin/many-in-one-request-over-restarts",
        "admin/settings-of-several-topics",
        "admin/settings-refused",
        "admin/settings-replaced",
        "admin/values-as-they-are-spelled",
        "admin/whatever-comes-next",
    ),
}


def since_of(case_id: str) -> str:
    """From which release on the case binds, as `since=` says it; empty where it binds all."""
    return next((since for since, cases in SINCE.items() if case_id in cases), "")
