"""Each mend, on and off: off it shows the gap of ADK that it is there for. Where both give the same, ADK needs it no more."""

import adk_gaps
import pytest

from agent_adapter_adk import Mends

# What happens, the effects with the mend, and those without it.
CASES = {
    "replay": (adk_gaps.answers_one_by_one, ["wipe:a", "wipe:b"], ["wipe:b"]),
    "hold": (adk_gaps.answers_in_a_sequence, ["mail:c", "wipe:a", "wipe:b"], ["wipe:a"]),
    "errors": (adk_gaps.an_error_after_a_call, ["charge:a", "mail:b"], ["charge:a"]),
    "graphs": (adk_gaps.a_question_in_a_graph, ["charge:a", "wipe:b"], ["charge:a"]),
    "long_running": (adk_gaps.beside_a_long_running_call, ["mail:b", "render:a"], []),
    "ended": (adk_gaps.an_ended_invocation, ["charge:a"], ["charge:a"] * 2),
    "prompt": (
        adk_gaps.an_agent_that_starts_again,
        ["charge:a", "mail:b"],
        ["charge:a", "charge:a", "mail:b", "mail:b"],
    ),
    "handover": (adk_gaps.a_question_beside_a_transfer, ["mail:b", "wipe:a"], ["mail:b"]),
    "resumable": (adk_gaps.a_named_request, ["wipe:a", "wipe:b"], []),
}


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("mend", CASES)
async def test_mend(*, mend, on, make_durable, make_chat, oracle):
    scenario, mended, gap = CASES[mend]
    durable = make_durable(mends=Mends(**{mend: on}))

    await scenario(oracle, lambda root, **settings: make_chat(root, with_=durable, **settings))

    assert sorted(oracle.lines) == (mended if on else gap)


def test_every_mend_is_here_but_the_one_of_batches():
    """`partial` is in test_partly_answered_batches.py."""
    assert {*CASES, "partial"} == set(Mends.__dataclass_fields__)
