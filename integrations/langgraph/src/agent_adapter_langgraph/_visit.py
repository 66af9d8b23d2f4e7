"""One execution of a graph node, as its config tells it, and the messages of its state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from agent_adapter.errors import ConfigError
from agent_adapter.exec.integration import stable_hash
from agent_adapter_langgraph._compat import CONFIG_KEY_CHECKPOINTER, DURABILITY

RUN_NAME = "agent_adapter_run"


@dataclass(frozen=True)
class Visit:
    """One execution of a graph node, as its config tells it.

    Attributes:
        thread: the thread's id; empty when there is none.
        namespace: the checkpoint namespace with task ids: the same when the step is entered again.
        path: the namespace without task ids and numbers: the node's place in the graph.
        run_name: the caller's own name for this request, if it gave one.
        step: the graph's step number.
        attempt: tells one execution of the task from the next in this process.
        sent: which of the step's sends started the task, None for a task that an edge started.
        saver: the checkpointer, None when the graph has none.
    """

    thread: str
    namespace: str
    path: str
    run_name: str | None
    step: int
    attempt: str
    sent: int | None
    saver: Any
    configurable: Mapping[str, Any]

    @property
    def saved(self) -> bool:
        """Whether a later run can find this visit again."""
        return self.run_name is not None or (self.saver is not None and bool(self.thread))

    @property
    def leaves_nothing_until_the_end(self) -> bool:
        """Whether checkpoints are written only when the run ends."""
        return self.configurable.get(DURABILITY) == "exit"

    @property
    def listing(self) -> str:
        """The name under which the store lists this thread's runs."""
        return listing(self.thread) if self.run_name is None else named_listing(self.run_name)


def listing(thread: str) -> str:
    """The name under which the store lists a thread's runs."""
    return f"langgraph:{stable_hash(thread)[:32]}"


def named_listing(run_name: str) -> str:
    """The name under which the store lists the runs of a request that the caller named."""
    return f"langgraph-run:{stable_hash(run_name)[:32]}"


def visit_of(config: RunnableConfig) -> Visit:
    """The visit that this config belongs to.

    Raises:
        ConfigError: the run name is not a non-empty string.
    """
    configurable = config.get("configurable") or {}
    run_name = configurable.get(RUN_NAME)
    if run_name is not None and (not isinstance(run_name, str) or not run_name):
        raise ConfigError(
            f"configurable[{RUN_NAME!r}] is a non-empty string that names one request, not {run_name!r}"
        )
    namespace = str(configurable.get("checkpoint_ns") or "")
    metadata = config.get("metadata") or {}
    runtime = configurable.get("__pregel_runtime")
    execution = getattr(runtime, "execution_info", None)
    attempt = f"{getattr(execution, 'node_first_attempt_time', '')}/{getattr(execution, 'node_attempt', '')}"
    thread = configurable.get("thread_id")
    return Visit(
        thread="" if thread is None else str(thread),
        namespace=namespace,
        path=path_of(namespace),
        run_name=run_name,
        step=int(metadata.get("langgraph_step") or 0),
        attempt=attempt,
        sent=_sent(metadata.get("langgraph_path")),
        saver=configurable.get(CONFIG_KEY_CHECKPOINTER) or None,
        configurable=configurable,
    )


def _sent(path: Any) -> int | None:
    if isinstance(path, list | tuple) and len(path) > 1 and type(path[1]) is int:
        return int(path[1])
    return None


def path_of(namespace: str) -> str:
    """The namespace without task ids and numbers."""
    return "|".join(part.split(":")[0] for part in namespace.split("|") if not part.isdigit())


def calls_of(message: Any) -> list[Mapping[str, Any]]:
    """The tool calls of a model message, which a checkpoint may have turned into a plain dict."""
    if get(message, "type") not in ("ai", "AIMessageChunk"):
        return []
    return [call for call in get(message, "tool_calls") or () if isinstance(call, dict)]


def messages_of(state: Any, key: str = "messages") -> list[Any]:
    """The messages in a graph state of any shape; empty when there are none."""
    if isinstance(state, list):
        return state
    found = get(state, key)
    return list(found) if isinstance(found, list | tuple) else []


def get(thing: Any, name: str) -> Any:
    """An attribute, or a key of a dict."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
