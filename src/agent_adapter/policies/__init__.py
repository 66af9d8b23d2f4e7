"""How a tool may be run: policies that stand on a tool or an executor, or that a bridge attaches to a foreign tool."""

from agent_adapter.policies._cache import Cache, MemoryCache
from agent_adapter.policies._events import Event, Sink, ToolEnded, ToolRetried, ToolStarted
from agent_adapter.policies._guards import (
    AnyGuard,
    Deny,
    Guard,
    GuardFunction,
    Replace,
    Verdict,
)
from agent_adapter.policies._hooks import Hook
from agent_adapter.policies._tool_policy import Confirm, Reconcile, ToolPolicy

__all__ = [
    "AnyGuard",
    "Cache",
    "Confirm",
    "Deny",
    "Event",
    "Guard",
    "GuardFunction",
    "Hook",
    "MemoryCache",
    "Reconcile",
    "Replace",
    "Sink",
    "ToolEnded",
    "ToolPolicy",
    "ToolRetried",
    "ToolStarted",
    "Verdict",
]
