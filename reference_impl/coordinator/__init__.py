"""What both coordinators, of groups and of transactions, share: their internal topics, placement, reading back."""
