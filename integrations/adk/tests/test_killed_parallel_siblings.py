"""Parallel calls of one turn and a kill: what had ended is answered from the record, what was begun is asked about."""

import pytest
from adk_kit import ScriptedModel, agent, ask, shown
from adk_stage import ANSWERS, Stage, to_the_end

TURN = [ask("charge", "a", call_id="1"), ask("pay", "b", call_id="2"), ask("mail", "c")]


def root(stage):
    return agent(ScriptedModel(TURN), *(stage.tool(name) for name in ("charge", "pay", "mail")))


def worker(folder, at):
    Stage(folder, at, after=("charge:a", "mail:c")).perform(root)


@pytest.mark.parametrize(("at", "asked"), [("pay:b", ["pay:b"]), (ANSWERS, [])])
async def test_every_sibling_has_one_effect_and_the_model_sees_all_results(
    *, tmp_path, in_child, make_chat, oracle, at, asked
):
    assert in_child(worker, tmp_path, at) == -9
    model = root(Stage(tmp_path))
    chat = make_chat(model)

    assert await to_the_end(chat, oracle) == asked

    assert sorted(oracle.lines) == ["charge:a", "mail:c", "pay:b"]
    assert shown(model.model) == {
        "calls": ["charge", "pay", "mail"],
        "responses": {
            "charge": {"did": "charge a"},
            "pay": {"did": "pay b"},
            "mail": {"did": "mail c"},
        },
    }


async def test_a_call_in_doubt_runs_again_when_a_person_says_so(
    tmp_path, in_child, make_chat, oracle
):
    in_child(worker, tmp_path, "pay:b")
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    (asked,) = await chat.pending()

    await chat.answer("approve")

    assert (asked.tool, asked.arguments, asked.cause) == ("pay", {"x": "b"}, "died")
    assert asked.payload["owner_known_dead"] is True
    assert sorted(oracle.lines) == ["charge:a", "mail:c", "pay:b", "pay:b"]
