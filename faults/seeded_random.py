"""Random numbers of a schedule: one independent stream for each window, from (seed, window id, what it is about)."""

import random
from hashlib import blake2b


def seeded_random(seed: int, *what: object) -> random.Random:
    """The stream that belongs to `what` under this seed; no other stream's draws can move it."""
    text = "\x1f".join(map(str, (seed, *what)))
    return random.Random(int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big"))
