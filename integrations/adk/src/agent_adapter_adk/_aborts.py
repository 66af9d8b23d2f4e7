"""True answers in the place of those that ADK makes up for the calls of a run whose client went away."""

from typing import Any

from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk._compat import ABORTED
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import parts_of
from agent_adapter_adk._run import Run
from agent_adapter_adk._truth import IN_DOUBT, NEVER, answer_of


async def truthful(core: Core, run: Run, event: Event) -> Event | None:
    """The event with what the record knows of each call; None when the event is no such event."""
    if event.error_code != ABORTED or not event.get_function_responses():
        return None
    parts: list[types.Part] = []
    for part in parts_of(event):
        response = part.function_response
        if response is None or not response.id:
            parts.append(part)
            continue
        answer: dict[str, Any] = await answer_of(core, run, response.id)
        if answer in ({"error": NEVER}, {"error": IN_DOUBT}):
            # ADK's own words stay with it: why the call has no result.
            answer = {
                "error": f"{(response.response or {}).get('error', '')} {answer['error']}".strip()
            }
        changed = response.model_copy(update={"response": answer})
        parts.append(part.model_copy(update={"function_response": changed}))
    content = types.Content(role=event.content.role if event.content else None, parts=parts)
    return event.model_copy(update={"content": content})
