"""The patches of torch.compile and TorchScript."""
