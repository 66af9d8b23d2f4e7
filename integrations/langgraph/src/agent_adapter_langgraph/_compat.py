"""The only file that names unstable LangGraph symbols: what a task's config holds, and a self-check of what we build on.

LangGraph hands answers to `interrupt()` by position and keeps a bare answer for whatever asks next. Our
questions carry their own ids, so we read answers where LangGraph puts them: the resume map (answers by id)
and the scratchpad (a bare one).
"""

import copy
import dataclasses
import hashlib
import itertools
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.prebuilt.tool_node import ToolNode as StockToolNode
from langgraph.prebuilt.tool_node import _get_all_injected_args

T = TypeVar("T")
RESUME_MAP = "__pregel_resume_map"
SCRATCHPAD = "__pregel_scratchpad"
SEND = "__pregel_send"
READ = "__pregel_read"
DURABILITY = "__pregel_durability"
RESUME = "__resume__"

__all__ = [
    "CONFIG_KEY_CHECKPOINTER",
    "DURABILITY",
    "RESUME_MAP",
    "BodyScope",
    "StockToolNode",
    "accepts",
    "bare_answer",
    "child_config",
    "glance",
    "injected_names",
    "per_tool",
    "state_messages",
    "take_bare_answer",
]


def child_config() -> RunnableConfig | None:
    """The config of the graph task that is running, None outside of one."""
    return var_child_runnable_config.get()


def bare_answer(configurable: Mapping[str, Any]) -> Any:
    """The answer without a name that LangGraph would hand to whatever asks next; None when there is none. It stays."""
    scratchpad = configurable.get(SCRATCHPAD)
    return None if scratchpad is None else _outermost(scratchpad)(False)


def take_bare_answer(configurable: Mapping[str, Any]) -> Any:
    """The bare answer, used up here, so that no `interrupt()` of this run is given it too; None when it was."""
    return _outermost(configurable[SCRATCHPAD])(True)


def _outermost(scratchpad: Any) -> Callable[[bool], Any]:
    """Where the task itself keeps the bare answer, also from inside a tool's body."""
    bare: Any = scratchpad.get_null_resume
    while (outer := getattr(bare, "outer", None)) is not None:
        bare = outer
    return cast("Callable[[bool], Any]", bare)


def injected_names(tool: BaseTool) -> frozenset[str]:
    """The parameters that ToolNode fills in and the model never sees."""
    return per_tool(tool, _injected_names)


def accepts(tool: BaseTool, given: Any, call_id: str | None) -> bool:
    """Whether the tool's schema accepts this input; the tool itself checks again and says what is wrong."""
    try:
        tool._parse_input(dict(given) if isinstance(given, dict) else given, call_id)  # noqa: SLF001 - no public check
    except Exception:  # noqa: BLE001 - whatever a validator raises, the tool will raise too
        return False
    return True


def _injected_names(tool: BaseTool) -> frozenset[str]:
    return frozenset(_get_all_injected_args(tool).all_injected_keys) | {"run_manager", "callbacks"}


_facts: OrderedDict[tuple[int, Callable[[BaseTool], Any]], tuple[BaseTool, Any]] = OrderedDict()
REMEMBERED_FACTS = 4096


def per_tool(tool: BaseTool, find: Callable[[BaseTool], T]) -> T:
    """`find(tool)`, found once for each tool object."""
    key = (id(tool), find)
    known = _facts.get(key)
    if known is None:
        # The tool itself is kept with the fact, so its id cannot come to mean another tool.
        known = _facts[key] = (tool, find(tool))
        if len(_facts) > REMEMBERED_FACTS:
            _facts.popitem(last=False)
    found: T = known[1]
    return found


class _Undecoded:
    """A serializer that decodes nothing: whoever only asks whether a checkpoint is there need not read it."""

    def loads_typed(self, _: object) -> Any:
        return defaultdict(dict)

    def dumps_typed(self, _: object) -> Any:
        raise NotImplementedError("a view to look at, not to write with")


def glance(saver: Any) -> Any:
    """The saver, for asking whether a checkpoint is stored without decoding it; it shares its connections and locks."""
    view = copy.copy(saver)
    view.serde = _Undecoded()
    return view


class BodyScope:
    """A tool body's own place to ask: its own answers and counters, whatever its siblings in the same task do.

    Attributes:
        asked: the body itself has reached an `interrupt()` that has no answer yet.
    """

    def __init__(self, answers: Sequence[Any], name: str) -> None:
        self.asked = False
        self._answers = list(answers)
        # Where the graphs inside this body begin to count: far from where those of a sibling do.
        self._first_subgraph = int(hashlib.sha256(name.encode()).hexdigest()[:12], 16)

    def enter(self, config: RunnableConfig) -> RunnableConfig:
        """The config to run the body with; the same config when it is not a graph task's."""
        configurable = config.get("configurable") or {}
        scratchpad = configurable.get(SCRATCHPAD)
        if scratchpad is None:
            return config
        namespace = configurable.get("checkpoint_ns")
        outer: Callable[[bool], Any] = scratchpad.get_null_resume

        def bare(consume: bool = False) -> Any:
            current = (child_config() or {}).get("configurable", {}).get("checkpoint_ns")
            if current != namespace:
                # A graph inside the body: its own questions keep LangGraph's rules.
                return outer(consume)
            self.asked = True
            return None

        bare.outer = outer  # type: ignore[attr-defined]  # where our own readers look
        own = dataclasses.replace(
            scratchpad,
            resume=self._answers,
            interrupt_counter=itertools.count().__next__,
            # Graphs inside sibling bodies of one task must not share a namespace.
            subgraph_counter=itertools.count(self._first_subgraph).__next__,
            get_null_resume=bare,
        )
        send = configurable[SEND]

        def send_without_answers(writes: Sequence[tuple[str, Any]]) -> None:
            # LangGraph would store the body's answers as the task's, for whoever asks first next time.
            if kept := [write for write in writes if write[0] != RESUME]:
                send(kept)

        return {
            **config,
            "configurable": {**configurable, SCRATCHPAD: own, SEND: send_without_answers},
        }


def state_messages(config: RunnableConfig) -> list[Any]:
    """The messages in the state of the graph whose task this is; empty when it has none or does not say."""
    read = (config.get("configurable") or {}).get(READ)
    if read is None:
        return []
    try:
        found = read("messages", False)
    except Exception:  # noqa: BLE001 - a graph without that channel
        return []
    return list(found) if isinstance(found, list | tuple) else []


def steps_so_far(configurable: Mapping[str, Any], step: int) -> int:
    """How many steps this run of the graph has made, whatever its thread made before."""
    scratchpad = configurable.get(SCRATCHPAD)
    return step - int(getattr(scratchpad, "stop", 0))


def step_of(checkpoint_id: str) -> str:
    """The graph's step at which a checkpoint was made, which LangGraph keeps in its id; empty for an id of another kind."""
    try:
        return str(uuid.UUID(checkpoint_id).clock_seq)
    except ValueError:
        return ""
