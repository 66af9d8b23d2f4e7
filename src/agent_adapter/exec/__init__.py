"""Running tool calls: the Executor, what people and probes say about calls in doubt, and what belongs to it."""

from agent_adapter.exec._batch import OnError
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._questions import DidNotHappen, DoNotRun, Happened, Rerun, Unknown
from agent_adapter.exec.control import is_control_flow, register_control_flow

__all__ = [
    "DidNotHappen",
    "DoNotRun",
    "Executor",
    "Happened",
    "OnError",
    "Rerun",
    "Unknown",
    "is_control_flow",
    "register_control_flow",
]
