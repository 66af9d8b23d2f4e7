"""True answers in the place of those that ADK makes up for the calls of a run whose client went away."""

from typing import Any

from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk._compat import ABORTED
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import parts_of
from agent_adapter_adk._run import Run
from agent_adapter_adk._truth import IN_DOUBT, NEVER, UNRECORDED, answer_of


async def tell_truth(core: Core, run: Run, event: Event) -> None:
    """Put what the record knows of each call into the event, if it is such an event."""
    if event.error_code != ABORTED or not event.get_function_responses() or not run.saved:
        return
    parts: list[types.Part] = []
    for part in parts_of(event):
        response = part.function_response
        if response is None or not response.id:
            parts.append(part)
            continue
        answer: dict[str, Any] = await answer_of(core, run, response.id, response.name or "")
        if answer.get("error") in (NEVER, IN_DOUBT, UNRECORDED):
            # ADK's own words stay with it: why the call has no result.
            answer = {
                "error": f"{(response.response or {}).get('error', '')} {answer['error']}".strip()
            }
        changed = response.model_copy(update={"response": answer})
        parts.append(part.model_copy(update={"function_response": changed}))
    # In place: an event that a plugin returns is not shown to the plugins behind it.
    event.content = types.Content(role=event.content.role if event.content else None, parts=parts)
