"""A question from inside an agent that is used as a tool is the caller's question, and its answer reaches the call inside."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from google.adk.tools.agent_tool import AgentTool

from agent_adapter.policies import ToolPolicy


@pytest.fixture(params=["by ADK", "by policy"])
def make_nested(request, oracle, make_chat, make_durable):
    """Make a worker for an agent tool of so many levels whose inner agent plays these turns; wiping is asked about."""
    native = request.param == "by ADK"
    policies = {} if native else {"wipe": ToolPolicy(confirm=True)}

    def made(*turns, levels=1):
        wipe = oracle.tool("wipe", require_confirmation=native)
        inside = agent(ScriptedModel(*turns), wipe, oracle.tool("mail"), name="inner")
        for level in range(1, levels):
            model = ScriptedModel([ask(inside.name, request="go")])
            inside = agent(model, AgentTool(inside), name=f"outer{level}")
        root = agent(ScriptedModel([ask(inside.name, request="go")]), AgentTool(inside))
        return make_chat(root, with_=make_durable(policies=policies))

    return made


@pytest.mark.parametrize("levels", [1, 2, 3])
async def test_a_question_inside_surfaces_and_is_answered_in_a_new_process(
    oracle, make_nested, levels
):
    turn = [ask("wipe", "a"), ask("mail", "b")]
    await make_nested(turn, levels=levels).say()
    later = make_nested(turn, levels=levels)
    (asked,) = await later.pending()
    before = oracle.lines

    events = await later.answer("approve")

    assert (asked.tool, asked.arguments, asked.cause) == ("wipe", {"x": "a"}, "approval")
    assert (before, oracle.lines) == (["mail:b"], ["mail:b", "wipe:a"])
    assert list(responses(events).values()) == [{"result": "done"}]
    assert words(events) == ["done"]


async def test_several_questions_inside_are_one_question_with_a_list(oracle, make_nested):
    turn = [ask("wipe", "a"), ask("mail", "b"), ask("wipe", "c")]
    await make_nested(turn, levels=2).say()
    later = make_nested(turn, levels=2)
    (asked,) = await later.pending()
    shown = [(each.tool, each.arguments) for each in asked.inside]
    said = {
        each.request_id: "approve" if each.arguments == {"x": "c"} else "reject"
        for each in asked.inside
    }

    events = await later.answer(said)

    assert asked.cause == "inside"
    assert sorted(shown, key=str) == [("wipe", {"x": "a"}), ("wipe", {"x": "c"})]
    assert oracle.lines == ["mail:b", "wipe:c"]
    assert words(events) == ["done"]


async def test_a_partial_answer_to_a_list_is_refused(oracle, make_nested):
    chat = make_nested([ask("wipe", "a"), ask("wipe", "c")])
    await chat.say()
    (asked,) = await chat.pending()
    only = {asked.inside[0].request_id: "approve"}
    with pytest.raises(RuntimeError, match="nothing was decided"):
        await chat.post({asked.id: {"confirmed": True, "payload": {"decisions": only}}})
    assert (oracle.lines, len(await chat.pending())) == ([], 1)


async def test_one_yes_approves_everything_that_was_shown(oracle, make_nested):
    chat = make_nested([ask("wipe", "a"), ask("wipe", "c")])
    await chat.say()
    await chat.answer("approve")
    assert sorted(oracle.lines) == ["wipe:a", "wipe:c"]


async def test_questions_inside_that_follow_each_other_are_asked_one_after_the_other(
    oracle, make_nested
):
    chat = make_nested([ask("wipe", "a")], [ask("mail", "b")], [ask("wipe", "c")])
    await chat.say()
    await chat.answer("approve")
    (second,) = await chat.pending()
    between = oracle.lines
    events = await chat.answer({"type": "edit", "args": {"x": "d"}})
    assert second.arguments == {"x": "c"}
    assert (between, oracle.lines) == (["wipe:a", "mail:b"], ["wipe:a", "mail:b", "wipe:d"])
    assert words(events) == ["done"]
