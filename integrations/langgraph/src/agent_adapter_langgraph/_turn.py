"""A graph's model node whose replies are kept."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from langgraph.config import get_config

from agent_adapter_langgraph._replies import Replies

F = TypeVar("F", bound=Callable[..., Any])


def durable_turn(function: F, replies: Replies) -> F:
    """The node `function(state, …)`, asked once a turn; its signature, and so what LangGraph injects, stays the same."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def aturn(state: Any, *args: Any, **kwargs: Any) -> Any:
            return await replies.anode(
                state, get_config(), lambda: function(state, *args, **kwargs)
            )

        return aturn  # type: ignore[return-value]  # same signature, by functools.wraps

    @functools.wraps(function)
    def turn(state: Any, *args: Any, **kwargs: Any) -> Any:
        return replies.node(state, get_config(), lambda: function(state, *args, **kwargs))

    return turn  # type: ignore[return-value]  # same signature, by functools.wraps
