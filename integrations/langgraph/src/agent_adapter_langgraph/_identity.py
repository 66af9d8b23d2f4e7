"""Which record answers which call: thread, node path, message and call id; or the visit; or a run's own name."""

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from agent_adapter.errors import ConfigError
from agent_adapter.exec.integration import CallId, digest, encode
from agent_adapter_langgraph._compat import CONFIG_KEY_CHECKPOINTER, DURABILITY

RUN_NAME = "agent_adapter_run"
REMEMBERED = 10_000


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
        saver: the checkpointer, None when the graph has none.
    """

    thread: str
    namespace: str
    path: str
    run_name: str | None
    step: int
    attempt: str
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
    return f"langgraph:{_hash(thread)[:32]}"


def named_listing(run_name: str) -> str:
    """The name under which the store lists the runs of a request that the caller named."""
    return f"langgraph-run:{_hash(run_name)[:32]}"


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
        saver=configurable.get(CONFIG_KEY_CHECKPOINTER) or None,
        configurable=configurable,
    )


def path_of(namespace: str) -> str:
    """The namespace without task ids and numbers."""
    return "|".join(part.split(":")[0] for part in namespace.split("|") if not part.isdigit())


def as_stored(value: Any) -> Any:
    """The value as a checkpointer gives it back: no lone surrogates, lists for tuples, string keys."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [as_stored(item) for item in value]
    if isinstance(value, dict):
        return {as_stored(str(key)): as_stored(item) for key, item in value.items()}
    return value


def call_digest(tool: str, arguments: Any) -> str:
    """The digest of a call: its tool and its arguments as they come back from a checkpoint.

    Raises:
        NotSealable: an argument has no exact stored form.
    """
    return digest([tool, encode(as_stored(arguments))])


def message_call(visit: Visit, message_id: str, tool: str, call_id: str, arguments: Any) -> CallId:
    """A call that a model message asks for; it is found again after edits, forks and redeploys."""
    run = _run("message", visit.thread, message_id)
    return _call(visit, run, _hash(visit.path, call_id)[:32], tool, call_id, arguments)


@dataclass(frozen=True)
class NodeScope:
    """One execution of a durable node: the calls below it are counted by the node, whatever `@task` they are made in."""

    namespace: str
    execution: str

    def place(self, visit: Visit) -> str:
        """The visit's namespace below the node, without the task ids that a retry changes."""
        below = visit.namespace.removeprefix(self.namespace)
        return f"{self.namespace}|{path_of(below.lstrip('|'))}" if below else self.namespace


def visit_call(
    visit: Visit, tool: str, call_id: str | None, arguments: Any, *, scope: NodeScope | None = None
) -> CallId:
    """A call that only its visit tells apart: by the model's id if it has one, else by how many equal ones came before."""
    place = scope.place(visit) if scope else visit.namespace
    base = (
        ("named", visit.run_name, path_of(place))
        if visit.run_name is not None
        else ("visit", visit.thread, place)
    )
    run = _run(*base)
    digested = call_digest(tool, arguments)
    if call_id is not None:
        return _call(visit, run, _hash("id", call_id)[:32], tool, call_id, arguments)
    execution = scope.execution if scope else visit.attempt
    occurrence = occurrences.next((visit.thread, place, execution), tool, digested)
    return _call(
        visit,
        run,
        _hash("nth", digested, str(occurrence))[:32],
        tool,
        f"{tool}-{occurrence}",
        arguments,
    )


def named_call(visit: Visit, tool: str, call_id: str, arguments: Any, occurrence: int) -> CallId:
    """A call of a request that the caller named; it survives a fresh thread and a second delivery."""
    digested = call_digest(tool, arguments)
    key = _hash(visit.path, digested, str(occurrence))[:32]
    return _call(visit, _run("named", visit.run_name or ""), key, tool, call_id, arguments)


def message_run(thread: str, message_id: str) -> str:
    """The store's run id for the calls of one model message."""
    return _run("message", thread, message_id)


def _call(  # noqa: PLR0917 - one private constructor for every kind of identity
    visit: Visit, run: str, key: str, tool: str, call_id: str, arguments: Any
) -> CallId:
    return CallId(
        run=run,
        name=visit.listing,
        key=key,
        call_id=call_id,
        tool=tool,
        digest=call_digest(tool, arguments),
        scope="" if visit.run_name is not None else f"{visit.thread}\x1f{visit.namespace}",
        arguments=encode(as_stored(arguments)),
    )


def _run(*parts: str) -> str:
    return f"lg-{_hash(*parts)}"


def _hash(*parts: str) -> str:
    # The length of each part keeps the parts apart whatever they contain.
    return hashlib.sha256(
        "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    ).hexdigest()


def stable_hash(*parts: str) -> str:
    """64 hex digits over these parts."""
    return _hash(*parts)


class _Occurrences:
    """How many equal calls each execution of a task has made; starts again when the task is entered again."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, ...], Counter[tuple[str, str]]] = OrderedDict()
        self._lock = threading.Lock()

    def next(self, execution: tuple[str, ...], tool: str, digested: str) -> int:
        with self._lock:
            counts = self._counts.setdefault(execution, Counter())
            while len(self._counts) > REMEMBERED:
                self._counts.popitem(last=False)
            occurrence = counts[tool, digested]
            counts[tool, digested] += 1
            return occurrence


occurrences = _Occurrences()


def find_message(messages: Sequence[Any], call_id: str | None, tool: str) -> tuple[str, int] | None:
    """The id of the newest model message that asks for this call, and the call's position in it; None if there is none."""
    for message in reversed(messages):
        for position, call in enumerate(calls_of(message)):
            if call.get("id") == call_id and call.get("name") == tool:
                name = get(message, "id")
                return (str(name), position) if name else None
    return None


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


def occurrence_of(messages: Sequence[Any], call_id: str | None, tool: str, arguments: Any) -> int:
    """How many equal calls the model asked for before this one, since the person last said something."""
    digested, count = call_digest(tool, arguments), 0
    start = max(
        (n for n, message in enumerate(messages) if get(message, "type") == "human"), default=-1
    )
    for message in messages[start + 1 :]:
        for call in calls_of(message):
            if call.get("name") == tool and call_digest(tool, call.get("args")) == digested:
                if call.get("id") == call_id:
                    return count
                count += 1
    return count
