"""How a tool may be run: policies that stand on a tool, or that a bridge attaches to a foreign one."""

from agent_adapter.policies._tool_policy import Confirm, Reconcile, ToolPolicy

__all__ = ["Confirm", "Reconcile", "ToolPolicy"]
