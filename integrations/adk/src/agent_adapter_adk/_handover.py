"""A turn that hands over to another agent, or leaves a loop, while one of its calls waits for a person: it waits with it.

ADK goes at once: it tells nobody what was asked, and the call is never run. So the call that hands over gets no response yet,
and is made again with the one that waits.
"""

from google.adk.agents.context import Context
from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk._events import calls_in, newest_first, parts_of
from agent_adapter_adk._run import Run


def note_handover(run: Run, ctx: Context) -> None:
    """Note a call that waits or that hands over; where one turn has both, the agent stays where it is."""
    name, actions = ctx.function_call_id or "", ctx.actions
    run.withheld.discard(name)
    if name in actions.requested_tool_confirmations or name in actions.requested_auth_configs:
        run.waiting.add(name)
    elif actions.transfer_to_agent or actions.escalate:
        run.leaving[name] = ctx
    else:
        return
    turn = _turn(ctx)
    if not turn & run.waiting:
        return
    for each in turn & run.leaving.keys():
        taken_back = run.leaving.pop(each).actions
        taken_back.transfer_to_agent = taken_back.escalate = None
        run.withheld.add(each)


def withhold(run: Run, event: Event) -> None:
    """Take the responses of such calls out of the event."""
    if not run.withheld.intersection(r.id or "" for r in event.get_function_responses()):
        return
    parts = [
        part
        for part in parts_of(event)
        if part.function_response is None or part.function_response.id not in run.withheld
    ]
    # In place: an event that a plugin returns is not shown to the plugins behind it, and ADK goes on with its own.
    event.content = types.Content(role=event.content.role if event.content else None, parts=parts)


def _turn(ctx: Context) -> set[str]:
    """The ids of the calls that the model made together with this one."""
    for event in newest_first(ctx.session.events, ctx.invocation_id):
        ids = {str(call.id) for call in calls_in(event)}
        if ctx.function_call_id in ids:
            return ids
    return set()
