"""Random numbers of a schedule: one independent stream for each window, from (seed, window id, what it is about)."""

import random
from hashlib import blake2b


def stream(seed: int, *what: object) -> random.Random:
    """The stream that belongs to `what` under this seed; no other stream's draws can move it."""
    return random.Random(_number(seed, what, 16))


def chance(seed: int, *what: object) -> float:
    """One draw in [0, 1) that depends only on the seed and on what it is about, never on the order of arrival."""
    return _number(seed, what, 7) / (1 << 56)


def _number(seed: int, what: tuple[object, ...], size: int) -> int:
    text = "\x1f".join(map(str, (seed, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=size).digest(), "big")
