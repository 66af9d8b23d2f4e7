"""Approvals of a whole model turn in `create_agent`: one question for all of its calls, asked before any of them begins."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.config import get_config

from agent_adapter.exec.integration import (
    Attempt,
    CallId,
    ClaimLost,
    Decision,
    Question,
    Replay,
    as_stored,
    encode,
    needs_approval,
)
from agent_adapter_langgraph._approval import Answers, Parked
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._identity import ToolUse
from agent_adapter_langgraph._leaving import in_sync, leaving
from agent_adapter_langgraph._middleware import DurableToolCalls, RepairingToolCalls
from agent_adapter_langgraph._visit import Visit, messages_of

# The node in which `create_agent` runs tools: a call's place is named after it, wherever it is asked about.
TOOLS = "tools"

LEFT_OPEN = "the answer leaves calls of this turn open; nothing was decided"

Calls = list[tuple[CallId, Any]]


class GatingToolCalls(DurableToolCalls):
    """Asks after the model, and before any tool, for every call of the turn that needs approval."""

    def after_model(self, state: Any, runtime: Any) -> None:
        """Nothing, once every such call is decided; the decisions wait with their calls."""
        del runtime
        gate = _TurnGate(self._core, self._core.visit(get_config()), state)
        if calls := in_sync(gate.calls()):
            self._core.barrier.wait(gate.visit)
            in_sync(gate.pass_(calls))

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        """As `after_model`."""
        del runtime
        gate = _TurnGate(self._core, self._core.visit(get_config()), state)
        if calls := await gate.calls():
            await self._core.barrier.await_(gate.visit)
            await gate.pass_(calls)


class GatingRepairingToolCalls(GatingToolCalls, RepairingToolCalls):
    """Also shows the model an answer for every call that a stopped run left without one."""


class _TurnGate:
    """One turn's gate: its calls, what was said about them, and what is still open."""

    def __init__(self, core: Core, visit: Visit, state: Any) -> None:
        self.visit = visit
        self._core = core
        self._messages = messages_of(state)

    async def calls(self) -> Calls:
        """The calls of the last message that need approval, and their arguments, encoded."""
        last = self._messages[-1] if self._messages else None
        found: Calls = []
        for wanted in last.tool_calls if isinstance(last, AIMessage) else ():
            use = ToolUse(None, wanted["name"], wanted["id"], wanted["args"])
            policy = self._core.policies.of(use.name, None)
            if policy.confirm is False or self._core.protection(self.visit, use) != "recorded":
                continue
            with leaving():
                if await needs_approval(policy, use.arguments, self._core.context(self.visit)):
                    found.append((self._identify(use), encode(as_stored(use.arguments))))
        return found

    async def pass_(self, calls: Calls) -> None:
        """Nothing, once everything is decided.

        Raises:
            GraphInterrupt: something is not.
        """
        while True:
            answers = await self._core.answers(self.visit, [call for call, _ in calls])
            try:
                with leaving(answers.note, lost=False):
                    return await self._decide(calls, answers)
            except ClaimLost:
                # Another worker went on with a call meanwhile.
                continue

    def _identify(self, use: ToolUse) -> CallId:
        """The call as the node of the tools will look for it, asked about in this visit."""
        *above, _ = self.visit.path.split("|")
        there = replace(self.visit, path="|".join([*above, TOOLS]))
        return self._core.identify(there, use, self._messages)

    async def _decide(self, calls: Calls, answers: Answers) -> None:
        questions: list[Question] = []
        decided: list[tuple[Attempt, Question, Decision]] = []
        with ExitStack() as held:
            for call, given in calls:
                entered = await self._core.ledger.enter(
                    call,
                    policy=self._core.policies.of(call.tool, None),
                    on_fork=self._core.on_fork,
                    bare=answers.bare,
                )
                if isinstance(entered, Replay):
                    continue
                held.callback(entered.land)
                if entered.gate.decided_before:
                    continue
                question = await entered.ask_approval(given)
                questions.append(question)
                if (decision := answers.decisions.get(question.id)) is not None:
                    decided.append((entered, question, decision))
            if len(decided) < len(questions):
                # An answer that leaves one of them open decides none.
                raise Parked(questions, answers.note or (LEFT_OPEN if decided else ""))
            for attempt, question, decision in decided:
                await attempt.keep_decision(question, decision)
