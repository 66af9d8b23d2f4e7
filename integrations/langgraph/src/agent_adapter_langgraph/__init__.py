"""Durable tool calls for LangGraph: a killed or paused graph goes on, and no finished tool runs again."""

from agent_adapter_langgraph._durable import DurableTools
from agent_adapter_langgraph._model import ChatModel
from agent_adapter_langgraph._signals import UnstableVisit

__all__ = ["ChatModel", "DurableTools", "UnstableVisit", "__version__"]

__version__ = "0.1.0"
