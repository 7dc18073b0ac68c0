"""The JetStream API as values and procedures: subjects, documents, errors, and one generator for
each request.
"""

from __future__ import annotations
