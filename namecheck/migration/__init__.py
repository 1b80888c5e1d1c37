"""Migrates code off the named tensors that torch 2.13 removed."""
