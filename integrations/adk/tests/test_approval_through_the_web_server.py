"""ADK's own web server asks and is answered with the JSON of ADK's user interface; the plugin changes nothing about that."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from adk_web import browsing, calls, results

from agent_adapter.policies import ToolPolicy

QUESTION = "adk_request_confirmation"


@pytest.fixture(params=["run", "run_sse"])
def way(request):
    return request.param


@pytest.fixture(params=["by ADK", "by policy"])
def open_server(request, way, oracle, make_durable, tmp_path):
    """Serve an agent that wipes once and is asked about it; again: a new server on the same files."""
    native = request.param == "by ADK"

    def made():
        durable = make_durable(policies={"wipe": ToolPolicy(confirm=not native)})
        wipe = oracle.tool("wipe", require_confirmation=native)
        root = agent(ScriptedModel([ask("wipe", "a"), ask("mail", "b")]), wipe, oracle.tool("mail"))
        return browsing(durable, root, tmp_path, way)

    return made


def posted(name, response):
    return {"functionResponse": {"id": name, "name": QUESTION, "response": response}}


@pytest.mark.parametrize("response", [{"confirmed": True}, {"response": '{"confirmed": true}'}])
async def test_an_approval_goes_round_and_survives_a_new_server(open_server, oracle, response):
    async with open_server() as browser:
        asked = await browser.post({"text": "go"})
    (question,) = calls(asked, QUESTION)
    before = oracle.lines

    async with open_server() as browser:
        events = await browser.post(
            posted(question["id"], response), invocationId=asked[0]["invocationId"]
        )

    assert question["args"]["originalFunctionCall"]["name"] == "wipe"
    assert question["args"]["toolConfirmation"]["confirmed"] is False
    assert (before, oracle.lines) == (["mail:b"], ["mail:b", "wipe:a"])
    assert results(events)["wipe"] == {"did": "wipe a"}
    assert events[-2]["content"]["parts"] == [{"text": "done"}]


@pytest.mark.parametrize(
    "response", [{}, {"confirmed": "yes"}, {"response": "yes"}, {"confirmed": True, "by": "me"}]
)
async def test_a_malformed_answer_is_an_error_and_leaves_the_call_parked(
    open_server, oracle, way, response
):
    async with open_server() as browser:
        (question,) = calls(await browser.post({"text": "go"}), QUESTION)
        before = await browser.session()

        events = await browser.post(posted(question["id"], response))
        told, after = browser.error, await browser.session()
        await browser.post(posted(question["id"], {"confirmed": True}))

    assert events == []
    assert told == "500" if way == "run" else "nothing was decided" in told
    assert after == before
    assert oracle.lines == ["mail:b", "wipe:a"]


async def test_a_different_second_answer_is_an_error(open_server, oracle, way):
    async with open_server() as browser:
        (question,) = calls(await browser.post({"text": "go"}), QUESTION)
        await browser.post(posted(question["id"], {"confirmed": False}))
        events = await browser.post(posted(question["id"], {"confirmed": True}))
    assert events == []
    assert browser.error == "500" if way == "run" else "answered differently" in browser.error
    assert oracle.lines == ["mail:b"]
