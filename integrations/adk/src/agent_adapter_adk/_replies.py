"""Ids of calls, unique from the start; and the replies of a model, kept where calls can be found again only by them.

Inside a call that runs an agent of its own, and in a named request, everything is new at each start: session, invocation
and ids. There the model is given its own recorded replies, so that it never plans a finished turn anew.
"""

import uuid

from google.adk.agents.context import Context
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from agent_adapter.exec.integration import Ledger, check_plain
from agent_adapter_adk._compat import MADE_ID
from agent_adapter_adk._events import calls_in, is_text
from agent_adapter_adk._identity import reply_call
from agent_adapter_adk._run import AGAIN, REDELIVERED, Run, made_before


class Replies:
    """The replies of a ledger's runs."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def recorded(self, run: Run, ctx: Context) -> LlmResponse | None:
        """The reply that the agent is given at this point; None when the model has to be asked."""
        if not run.keeps_replies:
            return None
        place = _place(ctx)
        number = self._number(run, ctx, place)
        kept = await self._ledger.kept(reply_call(run, *place, number))
        if kept is None:
            return None
        run.replies[place] = number + 1
        return _with_free_ids(LlmResponse.model_validate(kept), run, ctx)

    async def keep(self, run: Run, ctx: Context, response: LlmResponse) -> LlmResponse | None:
        """None, or the reply that another worker kept first at this point."""
        if not run.keeps_replies or response.error_code or not response.content:
            return None
        place = _place(ctx)
        number = self._number(run, ctx, place)
        run.replies[place] = number + 1
        plain = response.model_dump(mode="json", exclude_none=True, by_alias=True)
        check_plain(plain)
        first = await self._ledger.keep(reply_call(run, *place, number), plain)
        if first == plain:
            return None
        return _with_free_ids(LlmResponse.model_validate(first), run, ctx)

    @staticmethod
    def _number(run: Run, ctx: Context, place: tuple[str, str]) -> int:
        """Which of the agent's replies comes next."""
        if place not in run.replies:
            run.replies[place] = _so_far(ctx)
        return run.replies[place]


def make_ids_unique(run: Run, ctx: Context, response: LlmResponse) -> None:
    """Give every call of the reply an id that no call of the session has.

    Some servers use `call_0` again and again; ADK's confirmations and our records find calls by id.
    """
    calls = [part.function_call for part in _parts(response) if part.function_call is not None]
    if not any(call.id for call in calls) and not run.keeps_replies:
        # ADK makes the ids, each like no other.
        return
    taken = run.taken(ctx.session)
    for call in calls:
        # Made here, the id is recorded with the reply.
        name = call.id or f"{MADE_ID}{uuid.uuid4()}"
        call.id = _free(name, AGAIN, taken) if name in taken else name
        taken.add(call.id)


def _with_free_ids(response: LlmResponse, run: Run, ctx: Context) -> LlmResponse:
    """The recorded reply, in a session that may know its ids from an earlier delivery."""
    taken = run.taken(ctx.session)
    for part in _parts(response):
        call = part.function_call
        if call is not None and call.id and call.id in taken:
            call.id = _free(made_before(call.id), REDELIVERED, taken)
    return response


def _parts(response: LlmResponse) -> list[types.Part]:
    return response.content.parts or [] if response.content else []


def _free(name: str, mark: str, taken: set[str]) -> str:
    number = 2
    while f"{name}{mark}{number}" in taken:
        number += 1
    return f"{name}{mark}{number}"


def _place(ctx: Context) -> tuple[str, str]:
    return ctx.agent_name, made_before(ctx.branch or "")


def _so_far(ctx: Context) -> int:
    """How many replies the agent had in this invocation before this run."""
    return sum(
        1
        for event in ctx.session.events
        if event.invocation_id == ctx.invocation_id
        and event.author == ctx.agent_name
        and event.branch == ctx.branch
        and (calls_in(event) or is_text(event))
    )
