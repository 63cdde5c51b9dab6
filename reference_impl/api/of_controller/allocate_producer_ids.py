"""AllocateProducerIds 0 (KIP-730): a block of a thousand producer ids for one broker, never given to another."""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.txn.pids import BLOCK
from brokertrial.wire.messages import Struct, response


@handles("AllocateProducerIds", 0, 0, of_controller=True)
def allocate_producer_ids(request: Struct, context: Context) -> Struct:
    """A fresh block, durable."""
    first = context.node.controller.allocate_producer_ids(BLOCK)
    return response("AllocateProducerIds", producer_id_start=first, producer_id_len=BLOCK)
