"""ADK's own confirmations, by flag, by function and from the tool's body, go on as ADK means them, and once."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from google.adk.tools.tool_context import ToolContext

YES, NO = {"confirmed": True}, {"confirmed": False}


def only_a(x: str) -> bool:
    return x == "a"


@pytest.mark.parametrize("flag", [True, only_a], ids=["flag", "function"])
@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        (YES, ["wipe:a"], {"did": "wipe a"}),
        (NO, [], {"error": "This tool call is rejected."}),
    ],
    ids=["yes", "no"],
)
async def test_a_required_confirmation_decides(
    *, oracle, make_chat, each_service, flag, said, effects, answer
):
    root = agent(ScriptedModel([ask("wipe", "a")]), oracle.tool("wipe", require_confirmation=flag))
    chat = make_chat(root, on=each_service)
    await chat.say()
    (asked,) = await chat.pending()

    events = await chat.post({asked.id: said})

    assert (asked.tool, asked.arguments, asked.cause) == ("wipe", {"x": "a"}, "native")
    assert oracle.lines == effects
    assert responses(events) == {"wipe": answer}
    assert words(events) == ["done"]


async def test_a_call_that_needs_no_confirmation_is_not_asked_about(oracle, make_chat):
    wipe = oracle.tool("wipe", require_confirmation=only_a)
    chat = make_chat(agent(ScriptedModel([ask("wipe", "b")]), wipe))
    await chat.say()
    assert oracle.lines == ["wipe:b"]
    assert await chat.pending() == []


def asking(oracle, make_chat, **settings):
    """A tool that asks from its own body how much it may spend."""

    async def spend(x: str, tool_context: ToolContext) -> dict[str, object]:
        """spend"""
        said = tool_context.tool_confirmation
        if said is None:
            tool_context.request_confirmation(hint=f"spend {x}?", payload={"limit": 5})
            return {"status": "asked"}
        if not said.confirmed:
            return {"error": "refused"}
        oracle.write(f"spend:{said.payload['limit']}")
        return {"spent": said.payload["limit"]}

    return make_chat(agent(ScriptedModel([ask("spend", "a")]), spend), **settings)


@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        ({**YES, "payload": {"limit": 3}}, ["spend:3"], {"spent": 3}),
        (NO, [], {"error": "refused"}),
    ],
    ids=["yes", "no"],
)
async def test_a_tool_that_asks_from_its_body_gets_the_answer(
    *, oracle, make_chat, each_service, said, effects, answer
):
    chat = asking(oracle, make_chat, on=each_service)
    await chat.say()
    (asked,) = await chat.pending()

    events = await chat.post({asked.id: said})

    assert (asked.hint, asked.payload, asked.cause) == ("spend a?", {"limit": 5}, "native")
    assert oracle.lines == effects
    assert responses(events) == {"spend": answer}
    assert words(events) == ["done"]
