"""Results of tool calls, as ToolNode's execute step returns them, to plain JSON and back.

Nothing that the record names is imported or called: messages, commands and sends are known here, other
classes only when the tool's return annotation reaches them or the settings name them.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core import messages as lc_messages
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.messages.base import TextAccessor
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import ParentCommand
from langgraph.types import Command, Send

from agent_adapter.exec.integration import decode, encode, reachable_types
from agent_adapter_langgraph._compat import per_tool

Known = Mapping[str, type]


def _text_of_a_message(value: Any) -> Any:
    """`message.text` is a text that can also be called; other classes have no form here."""
    if type(value) is TextAccessor:
        return str(value)
    raise TypeError(type(value))


def name_of(kind: type) -> str:
    """The name under which a class stands in a record."""
    return f"{kind.__module__}:{kind.__qualname__}"


_TEXTS: dict[str, Any] = {name_of(TextAccessor): TextAccessor}

MESSAGES: Known = {
    name_of(kind): kind
    for kind in (*vars(lc_messages).values(), Document)
    if isinstance(kind, type) and issubclass(kind, BaseMessage | Document)
}


def known_types(tool: BaseTool | None, extra: Known) -> Known:
    """The classes that a record of this tool may hold."""
    declared = per_tool(tool, _declared) if tool is not None else MESSAGES
    return {**declared, **extra} if extra else declared


def _declared(tool: BaseTool) -> Known:
    """Messages, and what the return annotation of the tool's function reaches."""
    known = dict(MESSAGES)
    for function in (getattr(tool, "func", None), getattr(tool, "coroutine", None), tool._run):  # noqa: SLF001 - its body
        annotation = getattr(function, "__annotations__", {}).get("return")
        if annotation is not None and not isinstance(annotation, str):
            known.update(reachable_types(annotation))
    return known


def dump(result: Any, known: Known) -> dict[str, Any]:
    """The result as plain JSON that `load` turns back into an equal one.

    Raises:
        NotSealable: something in it has no exact stored form, or is of a class that `known` does not name.
    """
    if isinstance(result, list) and all(isinstance(item, ToolMessage | Command) for item in result):
        return {"kind": "list", "items": [dump(item, known) for item in result]}
    if isinstance(result, Command):
        return {"kind": "command", **_command(result, known)}
    return {"kind": "value", "value": _checked(result, known)}


def dump_parent(command: Command[Any], namespace: str, known: Known) -> dict[str, Any]:
    """A hand-off to a parent graph, raised by the tool in this namespace, as plain JSON."""
    return {"kind": "parent", "namespace": namespace, **_command(command, known)}


def _command(command: Command[Any], known: Known) -> dict[str, Any]:
    return {
        "graph": command.graph,
        "update": _checked(command.update, known),
        "resume": _checked(command.resume, known),
        "goto": _goto(command.goto, known),
    }


def _goto(goto: Any, known: Known) -> Any:
    if isinstance(goto, Send):
        return {"send": goto.node, "arg": _checked(goto.arg, known)}
    if isinstance(goto, list | tuple):
        return [_goto(item, known) for item in goto]
    return str(goto)


def _checked(value: Any, known: Known) -> Any:
    """The encoded value, proven to be readable again with these classes."""
    encoded = encode(value, encoder=_text_of_a_message)
    if encoded is not value:
        decode(encoded, known=known, decoder=_TEXTS.get)
    return encoded


def load(
    outcome: Mapping[str, Any], known: Known, *, tool: str, call_id: str | None, namespace: str
) -> Any:
    """The recorded result.

    Args:
        outcome: what was recorded.
        known: the classes that may be built.
        tool: the tool's name.
        call_id: the model's id of the call; None when the tool was called with plain arguments.
        namespace: the checkpoint namespace of this visit.

    Raises:
        ParentCommand: the tool handed off to a parent graph.
        ToolException: a person said "do not run" and the tool was called with plain arguments.
        NotSealable: the record names a class that is gone or has changed.
    """
    match outcome["kind"]:
        case "list":
            return [
                load(item, known, tool=tool, call_id=call_id, namespace=namespace)
                for item in outcome["items"]
            ]
        case "command":
            return _load_command(outcome, known)
        case "parent":
            raise ParentCommand(_load_parent(outcome, known, namespace))
        case "decided":
            return _decided(outcome, tool, call_id)
        case _:
            return decode(outcome["value"], known=known, decoder=_TEXTS.get)


def readdressed(result: Any, old: str | None, new: str | None) -> Any:
    """The result with its answers to the call id `old` as answers to `new`."""
    if not old or not new or old == new:
        return result
    if isinstance(result, ToolMessage):
        # As another answer it gets another id, or it would take the place of the first one in the state.
        changes = {"tool_call_id": new, "id": None}
        return result.model_copy(update=changes) if result.tool_call_id == old else result
    if isinstance(result, list):
        return [readdressed(item, old, new) for item in result]
    if isinstance(result, Command) and isinstance(result.update, dict):
        return replace(
            result, update={k: readdressed(v, old, new) for k, v in result.update.items()}
        )
    return result


def _load_command(outcome: Mapping[str, Any], known: Known) -> Command[Any]:
    return Command(
        # ToolNode tells a hand-off to the parent by identity.
        graph=Command.PARENT if outcome["graph"] == Command.PARENT else outcome["graph"],
        update=decode(outcome["update"], known=known),
        resume=decode(outcome["resume"], known=known),
        goto=_load_goto(outcome["goto"], known),
    )


def _load_parent(outcome: Mapping[str, Any], known: Known, namespace: str) -> Command[Any]:
    """The hand-off, with the place that it was raised in replaced by this one where the task has a new id."""
    command = _load_command(outcome, known)
    old, new = outcome["namespace"], namespace
    if isinstance(command.graph, str) and old and old != new:
        parents = dict(zip(_parents(old), _parents(new), strict=False))
        return replace(command, graph=parents.get(command.graph, command.graph))
    return command


def _parents(namespace: str) -> list[str]:
    parts = namespace.split("|")
    return ["|".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _load_goto(goto: Any, known: Known) -> Any:
    if isinstance(goto, dict):
        return Send(goto["send"], decode(goto["arg"], known=known))
    if isinstance(goto, list):
        return [_load_goto(item, known) for item in goto] or ()
    return goto


def _decided(outcome: Mapping[str, Any], tool: str, call_id: str | None) -> Any:
    """What a person or the tool's own probe said, as the call's answer."""
    if outcome["happened"]:
        value = decode(outcome["value"], known=MESSAGES)
        if call_id is None or isinstance(value, ToolMessage):
            return value
        return ToolMessage(content=_text(value), name=tool, tool_call_id=call_id)
    reason = (
        outcome["value"]
        or "A person decided that this call is not run. Do not call it again unless the user asks for it."
    )
    if call_id is None:
        raise ToolException(reason)
    return ToolMessage(content=reason, name=tool, tool_call_id=call_id, status="error")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
