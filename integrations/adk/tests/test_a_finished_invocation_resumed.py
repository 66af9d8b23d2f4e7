"""An invocation that is over and is resumed: it repeats its last words, asks no model, and runs nothing."""

import pytest
from adk_kit import ListedModel, ScriptedModel, agent, ask, words
from adk_stage import Stage
from google.adk.workflow import Workflow

CALLS = [ask("charge", "a")]


async def go_on(chat, invocation):
    return await chat.run(invocation_id=invocation)


@pytest.mark.parametrize("with_words", [True, False], ids=["said something", "said nothing"])
async def test_resumed_by_its_id_it_only_repeats_its_words(oracle, make_chat, with_words):
    model = ListedModel(CALLS, "all done" if with_words else [], CALLS, "twice")
    chat = make_chat(agent(model, oracle.tool("charge")))
    first = await chat.say()

    again = await go_on(chat, first[0].invocation_id)

    assert oracle.lines == ["charge:a"]
    assert len(model.seen) == 2
    assert words(again) == (["all done"] if with_words else [])


async def test_resume_of_a_finished_invocation_does_nothing(oracle, make_chat):
    model = ListedModel(CALLS, "all done", CALLS)
    chat = make_chat(agent(model, oracle.tool("charge")))
    await chat.say()
    before = (await chat.session()).events

    assert await chat.resume() == []
    assert (await chat.session()).events == before


def dies_after_its_words(stage):
    return agent(ScriptedModel(CALLS, "all done"), stage.tool("charge"))


def worker(folder):
    Stage(folder, "all done").perform(dies_after_its_words)


async def test_killed_before_its_last_words_it_still_says_them(
    tmp_path, in_child, make_chat, oracle
):
    assert in_child(worker, tmp_path) == -9
    chat = make_chat(dies_after_its_words(Stage(tmp_path)))

    events = await chat.resume()

    assert words(events) == ["all done"]
    assert oracle.lines == ["charge:a"]


async def test_a_finished_graph_is_not_run_again(oracle, make_chat):
    model = ListedModel(CALLS, "all done", CALLS, "twice")
    clerk = agent(model, oracle.tool("charge"), name="clerk")
    chat = make_chat(Workflow(name="root", edges=[("START", clerk)]))
    first = await chat.say()

    await go_on(chat, first[0].invocation_id)

    assert oracle.lines == ["charge:a"]
    assert len(model.seen) == 2


@pytest.mark.parametrize("plain", [True, False], ids=["by its id", "resume"])
async def test_what_ended_with_another_agent_is_over(oracle, make_chat, plain):
    model = ListedModel(CALLS, "all done", CALLS, "twice")
    desk = agent(model, oracle.tool("charge"), name="desk")
    moves = ScriptedModel([ask("transfer_to_agent", agent_name="desk")])
    chat = make_chat(agent(moves, sub_agents=[desk]))
    first = await chat.say()

    again = await (go_on(chat, first[0].invocation_id) if plain else chat.resume())

    assert oracle.lines == ["charge:a"]
    assert len(model.seen) == 2
    assert words(again) == (["all done"] if plain else [])
