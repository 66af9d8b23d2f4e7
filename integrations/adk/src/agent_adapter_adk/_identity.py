"""Which record answers which call: the invocation and the call's id, the node's path, or the call around it."""

import re
from dataclasses import replace
from typing import Any

from google.adk.agents.context import Context

from agent_adapter.exec.integration import CallId, as_stored, call_digest, encode
from agent_adapter_adk._events import find_call
from agent_adapter_adk._run import Run

# How an id is marked that the model gave before: `~2` is the second call of that id, `@2` the same call of a named
# request that is delivered a second time.
AGAIN = "~"
REDELIVERED = "@again"
_REDELIVERED = re.compile(rf"{REDELIVERED}\d+$")


def made_before(call_id: str) -> str:
    """The id under which a call of a named request was recorded first."""
    return _REDELIVERED.sub("", call_id)


def is_node(run: Run, ctx: Context) -> bool:
    """Whether the tool is a node of a graph: the id of its call stands in no event."""
    return find_call(run.events(ctx.session), ctx.function_call_id, ctx.invocation_id) is None


def identify(run: Run, ctx: Context, tool: str, arguments: Any) -> CallId:
    """Which call this is.

    Its digest is that of the arguments as the session keeps them: callbacks may change what the tool is given.

    Raises:
        NotSealable: an argument has no exact stored form.
    """
    found = find_call(run.events(ctx.session), ctx.function_call_id, ctx.invocation_id)
    if found is None:
        name = ctx.node_path
        key = run.key("node", name)
    else:
        call, count = found
        name, arguments = str(call.id), call.args or {}
        # Ids are unique where the plugin renames them; elsewhere the n-th use of one is another call.
        times = () if count == 1 else (str(count),)
        key = run.key("call", made_before(name) if run.name else name, *times)
    return named(run, key, name, tool, arguments)


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
