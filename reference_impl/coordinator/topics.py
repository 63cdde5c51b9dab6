"""The internal topics in which the coordinators keep what they decided."""

from __future__ import annotations

CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = {
    CONSUMER_OFFSETS: ("offsets.topic", {"cleanup.policy": "compact", "segment.bytes": "104857600"}),
    TRANSACTION_STATE: ("transaction.state.log", {"cleanup.policy": "compact"}),
}
"""Name -> (prefix of the broker settings that shape it, its own settings)."""
