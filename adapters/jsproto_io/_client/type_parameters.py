"""The type parameters of feeds and sinks. Type checkers know their defaults (PEP 696), so
``Feed[Message]`` is enough to write.

Python has such defaults from 3.13 on. Below that, `written` lets a class be written with fewer
parameters than it has.
"""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from jsproto.core.conversation.conversation import Conversation

    ConversationT_co = TypeVar(
        "ConversationT_co", bound=Conversation[Any], default=Conversation[Any], covariant=True
    )
    ItemT_contra = TypeVar("ItemT_contra", default=Any, contravariant=True)
else:
    from typing import TypeVar

    ConversationT_co = TypeVar("ConversationT_co", covariant=True)
    ItemT_contra = TypeVar("ItemT_contra", contravariant=True)

#: To be the ``__class_getitem__`` of a generic class at run time.
written = cast("Any", classmethod(GenericAlias))

__all__ = ["ConversationT_co", "ItemT_contra", "written"]
