"""The last epoch of a producer id, and the way there."""

from brokertrial.wire import errors

LAST_EPOCH, TOGETHER = 32_766, 250
"""Epoch 32767 is kept for fencing: who has 32766 is given another producer id next."""
FENCED = (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH, errors.INVALID_PRODUCER_ID_MAPPING)


def use_up(wire, producer):
    """All epochs of the id, many requests under way at once: each gives the next."""
    name, producer_id, epoch = producer.transactional_id, producer.id, producer.epoch
    while epoch < LAST_EPOCH:
        count = min(TOGETHER, LAST_EPOCH - epoch)
        asked = [
            wire.init_producer_id(name, timeout_ms=producer.timeout_ms, retry=False, wait=False) for _ in range(count)
        ]
        for answer in asked:
            row = answer.struct
            if row.error_code == errors.CONCURRENT_TRANSACTIONS:
                continue  # a broker may take them side by side
            epoch += 1
            found = (row.error_code, row.producer_id, row.producer_epoch)
            answer.must(found == (0, producer_id, epoch), f"it is {found}; it must be {(0, producer_id, epoch)}")
    producer.epoch = epoch
    producer.sequences.clear()
