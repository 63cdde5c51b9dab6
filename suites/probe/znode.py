"""One look at a node of ZooKeeper: as a case sees it, as text on the tape, as a row of the history."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any
from uuid import UUID

import msgspec

from brokertrial.histories.rows import ZooKeeperNode


class Znode(msgspec.Struct, frozen=True):
    """One node as it was seen once. Transaction ids (zxid) rise with each change of the whole ensemble."""

    path: str
    exists: bool
    data: str = ""
    version: int = -1  # counts the changes of its data
    czxid: int = -1  # the transaction that created it
    mzxid: int = -1  # the transaction that changed its data last
    ephemeral_owner: int = 0  # the session that it goes with; 0: it stays
    children: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """Its data as the JSON object that Kafka writes; empty where it is none."""
        try:
            found = msgspec.json.decode(self.data)
        except msgspec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def topic_id(self) -> UUID:
        """The id in the node of a topic, which Kafka writes in URL-safe Base64."""
        return UUID(bytes=urlsafe_b64decode(str(self.fields["topic_id"]) + "=="))

    @property
    def number(self) -> int:
        """Its data as a whole number, -1 where it is none."""
        return int(self.data) if self.data.lstrip("-").isdecimal() else -1


def znode_row(text: str, at_ns: int) -> ZooKeeperNode:
    """The row of a look whose text is on the tape."""
    seen = msgspec.json.decode(text, type=Znode)
    if not seen.exists:
        return ZooKeeperNode(at_ns=at_ns, path=seen.path)
    return ZooKeeperNode(
        at_ns=at_ns,
        path=seen.path,
        data=seen.data,
        version=seen.version,
        czxid=seen.czxid,
        mzxid=seen.mzxid,
        ephemeral_owner=seen.ephemeral_owner,
        children=msgspec.json.encode(seen.children).decode(),
    )


def znode_text(row: ZooKeeperNode) -> str:
    """The text of a look whose row is in a history."""
    if row.version is None:
        return msgspec.json.encode(Znode(row.path, False)).decode()
    children = msgspec.json.decode(row.children or "[]", type=tuple[str, ...])
    numbers = (row.version, row.czxid or 0, row.mzxid or 0, row.ephemeral_owner or 0)
    return msgspec.json.encode(Znode(row.path, True, row.data or "", *numbers, children)).decode()
