"""A tool's `reconcile` is asked before a person is: what it says of a call in doubt counts."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage

from agent_adapter.exec import DidNotHappen, Happened, Unknown
from agent_adapter.policies import ToolPolicy

# What the probe says: the effects after a resume, the answers, and why a person is asked.
CASES = {
    "happened": (Happened({"did": "seen"}), 1, {"pay": {"did": "seen"}}, []),
    "did not happen": (DidNotHappen(), 2, {"pay": {"did": "pay a"}}, []),
    "unknown": (Unknown(), 1, None, ["died"]),
    "fails": (OSError("no line"), 1, None, ["died"]),
}


def root(stage):
    return agent(ScriptedModel([ask("pay", "a")]), stage.tool("pay"))


def killed(folder):
    Stage(folder, "pay:a").perform(root)


@pytest.mark.parametrize("case", CASES)
async def test_what_the_probe_says_counts(
    *, case, tmp_path, in_child, make_durable, make_chat, oracle
):
    said, effects, answers, causes = CASES[case]
    looked_up = []

    def reconcile(arguments, key):
        looked_up.append((arguments, len(key)))
        if isinstance(said, Exception):
            raise said
        return said

    assert in_child(killed, tmp_path) == -9
    durable = make_durable(policies={"pay": ToolPolicy(reconcile=reconcile)})
    chat = make_chat(root(Stage(tmp_path)), with_=durable)
    events = await chat.resume()

    assert looked_up[:1] == [({"x": "a"}, 64)]
    assert oracle.lines == ["pay:a"] * effects
    assert [each.cause for each in await chat.pending()] == causes
    assert answers is None or responses(events) == answers
