"""Signing with Ed25519 keys, by one of two libraries."""
