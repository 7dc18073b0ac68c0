"""Stored messages in bulk: batches of direct gets, and whole streams as snapshots."""
