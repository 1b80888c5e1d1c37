"""The patches of torch.distributed: names on sharded tensors, compared between ranks."""
