"""Durable tool calls for Google ADK: one plugin, and no finished tool runs again."""

from agent_adapter_adk._durable import DurableTools
from agent_adapter_adk._mend import Mends
from agent_adapter_adk._plugin import DurablePlugin
from agent_adapter_adk._session import OpenQuestion
from agent_adapter_adk._signals import Stopped

__all__ = ["DurablePlugin", "DurableTools", "Mends", "OpenQuestion", "Stopped", "__version__"]

__version__ = "0.1.0"
