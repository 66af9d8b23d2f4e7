"""What the record knows of a call, as the answer that a model is given about it."""

from typing import Any

from agent_adapter.errors import ToolFailed
from agent_adapter.exec.integration import NotSealable
from agent_adapter_adk._compat import FRAMEWORK_TOOLS
from agent_adapter_adk._core import Core
from agent_adapter_adk._identity import named
from agent_adapter_adk._outcomes import load
from agent_adapter_adk._run import Run
from agent_adapter_adk._values import genai_types

IN_DOUBT = "The outcome of this call is unknown: it was begun and no result was recorded. It needs a person's decision."
NEVER = "This call was never started: the run stopped before it. Call the tool again if it is still wanted."
UNRECORDED = "No result of this call is recorded; it may have begun. Its tool may be called again."
FINISHED = (
    "This call finished, and its result cannot be shown here. Do not call the tool again for it."
)


async def answer_of(core: Core, run: Run, call_id: str, tool: str) -> dict[str, Any]:
    """The call's recorded result as a function response, or a sentence that says what is known of it."""
    found = await core.ledger.log.find(run.store_run, run.call_key(call_id))
    if found is None or found[1].gated or found[1].ended == "undone":
        policy = core.policies.of(tool)
        kept = not (policy.idempotent or policy.read_only or tool in FRAMEWORK_TOOLS)
        return {"error": NEVER if kept else UNRECORDED}
    record, entry = found
    if entry.state != "done":
        return {"error": IN_DOUBT}
    call = named(run, record.key, call_id, record.tool, {})
    try:
        result = load(entry.outcome, call, {**genai_types(), **core.types})
    except NotSealable:
        return {"error": FINISHED}
    if isinstance(result, ToolFailed):
        return {"error": f"{type(result).__name__}: {result}"}
    return result if isinstance(result, dict) else {"result": result}
