"""The ids of the nodes that we start."""

CONTROLLER = 100
"""Of the bundled broker's controller, which is no broker."""


def node_ids(count: int) -> tuple[int, ...]:
    """0, 2, 3 ...: zero, which is easily taken for none, and a gap, since ids are no places in a list."""
    return (0, *range(2, count + 1))
