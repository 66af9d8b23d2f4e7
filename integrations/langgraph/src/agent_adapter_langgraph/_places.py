"""Where a turn's reply is kept: thread, node path, step, and everything that the model is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_adapter.exec.integration import (
    CallId,
    NotSealable,
    as_stored,
    digest,
    encode,
    stable_hash,
)
from agent_adapter_langgraph._compat import steps_so_far
from agent_adapter_langgraph._scope import occurrences
from agent_adapter_langgraph._visit import Visit, calls_of, get


@dataclass(frozen=True)
class Turn:
    """The place of one turn's reply.

    Attributes:
        places: where it is looked for, in this order, and kept.
        execution: whose turns are counted.
        digest: what the model is shown.
    """

    places: tuple[CallId, ...]
    execution: tuple[str, ...]
    digest: str

    @property
    def name(self) -> str:
        """What the ids of the reply's messages are made of."""
        return self.places[0].run

    def asked(self) -> None:
        """The model has replied: an equal turn from now on is another one."""
        occurrences.next(self.execution, "reply", self.digest)


def places(visit: Visit, digested: str, nth: str) -> tuple[CallId, ...]:
    """Where a turn's reply is looked for and kept.

    The step keeps a loop that asks again with the same messages apart from a second worker at the same turn. A named
    request may be delivered to a thread that has gone further, so there the steps are also counted from its beginning.
    """
    if visit.run_name is None:
        runs = [stable_hash("reply", visit.thread, visit.path, str(visit.step), digested, nth)]
    else:
        so_far = steps_so_far(visit.configurable, visit.step)
        steps = dict.fromkeys((f"step {visit.step}", f"after {so_far}"))
        runs = [
            stable_hash("named-reply", visit.run_name, visit.path, step, digested, nth)
            for step in steps
        ]
    return tuple(
        CallId(
            run=f"lg-{run}",
            name=visit.listing,
            key="reply",
            call_id="reply",
            tool="model",
            digest=digested,
            scope="",
        )
        for run in runs
    )


def asked_with(request: Any) -> str:
    """What else tells one model call from another: two agents of one node may be shown the same messages."""
    tools = [str(get(tool, "name") or tool) for tool in request.tools or ()]
    formats = [str(get(kind, "name")) for kind in schema_specs(request)]
    system = str(get(request.system_message, "content")) if request.system_message else ""
    settings = str(sorted((request.model_settings or {}).items(), key=lambda item: str(item[0])))
    return stable_hash(system, str(request.tool_choice), settings, *tools, "formats", *formats)


def other_state(state: Any) -> str:
    """What a model node may read beside the messages."""
    fields = state if isinstance(state, Mapping) else getattr(state, "__dict__", {})
    parts: list[str] = []
    for name in sorted(str(name) for name in fields if name != "messages"):
        try:
            parts += [name, digest(encode(as_stored(fields[name])))]
        except NotSealable as refused:
            parts += [name, refused.type_name]
    return stable_hash(*parts)


def schema_specs(request: Any) -> Sequence[Any]:
    found = getattr(getattr(request, "response_format", None), "schema_specs", None)
    return found if isinstance(found, list | tuple) else ()


def shown(message: Any, *, by_id: bool) -> str:
    """What tells this message from others: its id; a tool's answer by its call and content, since its id may be new."""
    kind, name = str(get(message, "type")), get(message, "id")
    if by_id and name and kind != "tool":
        return f"{kind}:{name}"
    content = str(as_stored(get(message, "content")))
    if kind == "tool":
        return stable_hash(kind, str(get(message, "tool_call_id")) if by_id else "", content)
    calls = [
        (str(call.get("name")), str(as_stored(call.get("args")))) for call in calls_of(message)
    ]
    return stable_hash(kind, content, *(part for call in calls for part in call))
