"""A model that follows a script by what it is shown alone, as a real one does: it keeps nothing between two calls."""

import json
import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

# What a model says, turn by turn: calls (the tool, and its one argument), or words that end its answer. When the script is
# through it says what became of its calls.
Turn = Sequence[tuple[str, str]] | str
Script = Sequence[Turn]

# Comes after an order, before a mark that tells one reply of a drifting model from another.
MARK = "~"
# Said only while a call of the last turn is still under way.
WAITING = "waiting"
# Tools of ADK that end an agent; a model that is asked once more calls them once more.
CLOSING = ("finish_task", "exit_loop")
ARGUMENT = {"transfer_to_agent": "agent_name", "exit_loop": ""}


@dataclass
class Shown:
    """One turn of the model's own in what it is shown: its calls, and their answers where there are any."""

    calls: list[types.FunctionCall]
    answers: list[types.FunctionResponse] = field(default_factory=list)
    followed: bool = False

    def outcomes(self) -> list[tuple[str, Any]]:
        """Each call's argument and its answer, None where it has none."""
        left = list(self.answers)
        found = []
        for call in self.calls:
            same = [answer for answer in left if answer.name == call.name]
            named = [answer for answer in same if call.id and answer.id == call.id]
            mine = next(iter(named or same), None)
            if mine is not None:
                left.remove(mine)
            argument = next(iter((call.args or {}).values()), "")
            found.append((str(argument), mine.response if mine else None))
        return found


class ScriptedModel(BaseLlm):
    """A model with a script.

    Attributes:
        record: where it notes what it was shown and what it said.
        script: see `Script`.
        agent: whose model it is.
        ids: "new": each call has an id of its own; "same": every turn counts from `call_0`; "none": the model gives none.
        drifts: it never plans the same twice: each reply marks its orders.
        arguments: its tools' argument names, where they are not `order`; one without a name takes none.
    """

    model: str = "scripted"
    record: Any
    script: Any
    agent: str
    ids: str = "new"
    drifts: bool = False
    arguments: dict[str, str] = ARGUMENT

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = reply(self, llm_request.contents)
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def reply(model: ScriptedModel, contents: Sequence[types.Content]) -> list[types.Part]:
    """The next reply to these contents; what is odd about them is noted."""
    shown, asked = read(contents)
    for why in oddities(shown, model.script):
        model.record.add("odd", agent=model.agent, why=why)
    at = position(shown, model.script)
    said: Turn = summary(model.agent, shown)
    if at < len(model.script) or _closes(model.script[-1]):
        said = model.script[min(at, len(model.script) - 1)]
    model.record.add("turns", agent=model.agent, asked=asked, turn=at)
    if isinstance(said, str):
        return [types.Part(text=said)]
    suffix = asked.removeprefix("go").strip() if asked.startswith("go ") else ""
    mark = f"{MARK}{uuid.uuid4().hex[:6]}" if model.drifts else ""
    return [_call(model, n, name, given, f"{suffix}{mark}") for n, (name, given) in enumerate(said)]


def _closes(turn: Turn) -> bool:
    return not isinstance(turn, str) and all(name in CLOSING for name, _ in turn)


def _call(model: ScriptedModel, n: int, name: str, given: str, suffix: str) -> types.Part:
    argument = model.arguments.get(name, "order")
    if argument == "order":
        given = f"{given}{suffix}"
    given_id = {"new": f"call-{uuid.uuid4().hex[:8]}", "same": f"call_{n}", "none": None}[model.ids]
    args = {argument: given} if argument else {}
    return types.Part(function_call=types.FunctionCall(id=given_id, name=name, args=args))


def read(contents: Sequence[types.Content]) -> tuple[list[Shown], str]:
    """The model's own turns in the contents, and the last plain words of a user."""
    turns: list[Shown] = []
    asked = ""
    for content in contents:
        parts = content.parts or []
        calls = [part.function_call for part in parts if part.function_call]
        answers = [part.function_response for part in parts if part.function_response]
        text = " ".join(part.text for part in parts if part.text)
        if calls:
            turns.append(Shown(calls))
        elif answers and turns:
            turns[-1].answers += answers
        elif content.role == "model" and text and turns:
            turns[-1].followed = True
        elif content.role == "user" and text and not text.startswith("For context:"):
            # The same words once more are the same request, delivered again.
            turns = [] if text == asked else turns
            asked = text
    return turns, asked


def position(shown: Sequence[Shown], script: Script) -> int:
    """Where in the script a model is that is shown these turns of its own."""
    calls = [at for at, turn in enumerate(script) if not isinstance(turn, str)]
    if not shown:
        return 0
    at = calls[min(len(shown), len(calls)) - 1] + 1
    if at < len(script) and isinstance(script[at], str):
        through = shown[-1].followed if script[at] != WAITING else not _is_under_way(shown[-1])
        at += through
    return at


def _is_under_way(turn: Shown) -> bool:
    answers = [answer for _, answer in turn.outcomes()]
    return any(isinstance(answer, dict) and answer.get("status") == "pending" for answer in answers)


def oddities(shown: Sequence[Shown], script: Script) -> list[str]:
    """What a model should never be shown: a call without an answer, or a turn without one of its calls."""
    found = []
    planned = [turn for turn in script if not isinstance(turn, str)]
    for turn, plan in zip(shown, planned, strict=False):
        names = [call.name for call in turn.calls]
        if names != [name for name, _ in plan]:
            found.append(f"a turn shows {names}, and was {[name for name, _ in plan]}")
        found += [f"{given} has no answer" for given, answer in turn.outcomes() if answer is None]
    if len(shown) > len(planned) and not _closes(script[-1]):
        found.append(f"{len(shown)} turns are shown of {len(planned)}")
    return found


def summary(agent: str, shown: Sequence[Shown]) -> str:
    """What a model says at its end: what became of each call that it is shown."""
    words = [f"{given} {_word(answer)}" for turn in shown for given, answer in turn.outcomes()]
    return f"{agent} is done: {', '.join(words)}"


def _word(answer: Any) -> str:
    """One answer in a word; the words of an agent in brackets."""
    if not isinstance(answer, dict):
        return str(answer)
    if "error" in answer:
        return "error"
    if "order" in answer:
        return str(answer.get("status", "ok"))
    if answer.keys() == {"result"}:
        return (
            f"[{answer['result']}]"
            if isinstance(answer["result"], str)
            else _word(answer["result"])
        )
    if "structuredContent" in answer or "content" in answer:
        return _word_of_mcp(answer)
    return json.dumps(answer, sort_keys=True, default=str)


def _word_of_mcp(answer: dict[str, Any]) -> str:
    text = next((part.get("text", "") for part in answer.get("content") or []), "")
    return "error" if answer.get("isError") else "ok" if "order" in text else f"[{text}]"
