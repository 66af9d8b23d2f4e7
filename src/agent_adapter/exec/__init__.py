"""Running tool calls: the Executor and what belongs to it."""

from agent_adapter.exec._batch import OnError
from agent_adapter.exec._executor import Executor
from agent_adapter.exec.control import is_control_flow, register_control_flow

__all__ = ["Executor", "OnError", "is_control_flow", "register_control_flow"]
