"""Hook: who watches calls and changes nothing."""

from collections.abc import Awaitable
from typing import Protocol

from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext


class Hook(Protocol):
    """Told of calls that are carried out; both methods may be async, and what they raise is logged.

    A replayed call gives no hook: nothing is carried out. Nor has a call an end here that control flow leaves.
    """

    def before(self, call: ToolCall, ctx: RunContext) -> Awaitable[None] | None:
        """The body is about to begin, with `call.arguments`."""
        return None

    def after(self, call: ToolCall, result: ToolResult, ctx: RunContext) -> Awaitable[None] | None:
        """The call ended; also when it was denied, parked or answered from the cache, without a `before`."""
        return None
