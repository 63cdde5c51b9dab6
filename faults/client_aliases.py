"""What clients call themselves on the wire: their names, made unreadable for everybody who has not the key.

A broker could else tell by `client.id` who asks. The proxy reads the names back, so that a schedule
says `client="producer-1"`.
"""

import base64
import hashlib
from itertools import cycle


class ClientAliases:
    """Both ways between a client's name and what it calls itself; without a key both are the same."""

    def __init__(self, prefix: str = "", key: str = "") -> None:
        self._prefix = f"{prefix}-"
        self._stream = hashlib.sha256(f"{prefix}/{key}".encode()).digest() if key else b""

    def hide(self, name: str) -> str:
        """What the client of this name calls itself."""
        if not self._stream:
            return name
        return self._prefix + base64.b32encode(self._mixed(name.encode())).decode().rstrip("=").lower()

    def show(self, alias: str) -> str:
        """The name of a client that calls itself so; of one that is not ours, what it calls itself."""
        if not self._stream or not alias.startswith(self._prefix):
            return alias
        text = alias.removeprefix(self._prefix).upper()
        try:
            return self._mixed(base64.b32decode(text + "=" * (-len(text) % 8))).decode()
        except ValueError:  # no base 32, or no text
            return alias

    def _mixed(self, data: bytes) -> bytes:
        return bytes(one ^ other for one, other in zip(data, cycle(self._stream), strict=False))
