"""Which record answers which call: the invocation and the call's id, the node's path, or the call around it."""

from dataclasses import replace
from typing import Any

from google.adk.agents.context import Context

from agent_adapter.exec.integration import CallId, as_stored, call_digest, encode
from agent_adapter_adk._events import count_calls, find_call
from agent_adapter_adk._run import Run


def is_node(ctx: Context) -> bool:
    """Whether the tool is a node of a graph: the id of its call stands in no event."""
    return find_call(ctx.session.events, ctx.function_call_id, ctx.invocation_id) is None


def identify(run: Run, ctx: Context, tool: str, arguments: Any, *, unique: bool) -> CallId:
    """Which call this is.

    Its digest is that of the arguments as the session keeps them: callbacks may change what the tool is given.

    Args:
        run: the run that makes the call.
        ctx: the call's context.
        tool: the tool's name.
        arguments: what the tool is given.
        unique: whether the plugin saw to it that no id is used twice; elsewhere the n-th use of one is another call.

    Raises:
        NotSealable: an argument has no exact stored form.
    """
    events, invocation = ctx.session.events, ctx.invocation_id
    call = find_call(events, ctx.function_call_id, invocation)
    if call is None:
        name = ctx.node_path
        return named(run, run.key("node", name), name, tool, arguments)
    name = str(call.id)
    uses = 1 if unique else count_calls(events, name, invocation)
    return named(run, run.call_key(name, uses), name, tool, call.args or {})


def named(run: Run, key: str, name: str, tool: str, arguments: Any) -> CallId:
    """A call of this run under this key."""
    return CallId(
        run=run.store_run,
        name=run.listing,
        key=key,
        call_id=name,
        tool=tool,
        digest=call_digest(tool, arguments),
        scope="",
        arguments=encode(as_stored(arguments)),
    )


def reply_call(run: Run, agent: str, branch: str, number: int) -> CallId:
    """Where the n-th reply of an agent of this run is kept."""
    key = run.key("reply", agent, branch, str(number))
    return replace(named(run, key, "reply", "@model", {}), digest="")


def note_call(run: Run) -> CallId:
    """Where it is kept what a named request asked for."""
    return replace(named(run, run.key("request"), "request", "@request", {}), digest="")
