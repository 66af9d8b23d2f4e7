"""What a server says of its tool: a claim of harm always counts, a claim of harmlessness only where it is trusted."""

import pytest
from lg_scripted import GO, THREAD, ScriptedChat, ask, causes, durable_app

from agent_adapter import ToolPolicy

CHAT = ScriptedChat(ask(("search", "x", "c1")))
# The hints of the tool, whether they are trusted, and the effects after the call failed once and was met again.
RULES = [
    ({}, True, 1),
    ({"readOnlyHint": True}, False, 1),
    ({"readOnlyHint": True}, True, 2),
    ({"idempotentHint": True}, False, 1),
    ({"idempotentHint": True}, True, 2),
    ({"idempotentHint": "true"}, True, 1),
    ({"readOnlyHint": True, "destructiveHint": True}, True, 1),
    ({"idempotentHint": True, "destructiveHint": True}, True, 1),
    ({"idempotentHint": True, "destructiveHint": False}, True, 2),
]


def met_twice(durable, oracle, saver, hints) -> list[str]:
    """The causes of the questions after a call that failed was met again."""

    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    tool = oracle.tool("search", fails)
    tool.metadata = hints
    app = durable_app("agent", durable, CHAT, [tool], saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)
    try:
        return causes(app.invoke(None, THREAD))
    except TimeoutError:
        return []


@pytest.mark.parametrize(("hints", "trusted", "effects"), RULES)
def test_hints_count_as_far_as_they_are_trusted(
    *, hints, trusted, effects, make_durable, sync_saver, oracle
):
    asked = met_twice(make_durable(trust_annotations=trusted), oracle, sync_saver, hints)

    assert len(oracle.lines) == effects
    assert asked == (["raised"] if effects == 1 else [])


def test_a_policy_counts_more_than_a_trusted_hint(make_durable, sync_saver, oracle):
    durable = make_durable(trust_annotations=True, policies={"search": ToolPolicy()})

    assert met_twice(durable, oracle, sync_saver, {"readOnlyHint": True}) == ["raised"]
    assert len(oracle.lines) == 1
