"""The JetStream API: subjects, documents and errors as values, requests as generators."""

from __future__ import annotations
