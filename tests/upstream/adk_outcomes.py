"""How the passes over ADK's tests compare: what ends differently with durable tools, and which of it is meant to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

BARE, IDLE = "bare", "idle"
# The passes, by name, with what each tells the pytest plugin.
PASSES = {
    BARE: ("--adk-plugin=none",),
    IDLE: ("--adk-plugin=idle",),
    "durable": ("--adk-plugin=durable",),
    "bare, resumable": ("--adk-plugin=none", "--resumable"),
    "durable, resumable": ("--adk-plugin=durable", "--resumable"),
}
# The passes with ours, each with the one that its tests are to end as in.
OURS = {"durable": BARE, "durable, resumable": "bare, resumable"}
NOT_COLLECTED = "not collected"

# By file and test: files move between releases.
MOCKED = "its plugins are handed a Mock in the place of an invocation"
ANSWERED = "a tool's exception becomes an answer for the model (on_error)"
SHIELDED = (
    "a call that has begun is not cancelled with its siblings, so that its result is recorded"
)
HELD = "a run that is held until every question is answered says so with an event"
TWO_CALLS = "its model gives one call a second time, with its id: to us these are two calls"
INTENDED = {
    "test_plugin_manager.py::test_all_callbacks_are_supported": MOCKED,
    "test_plugin_manager.py::test_early_exit_stops_subsequent_plugins": MOCKED,
    "test_plugin_manager.py::test_normal_flow_all_plugins_are_called": MOCKED,
    "test_plugin_manager.py::test_plugin_exception_is_wrapped_in_runtime_error": MOCKED,
    "test_tool_callbacks.py::test_on_tool_error_callback_tool_error_noop": ANSWERED,
    "test_functions_parallel_error.py::test_parallel_function_call_error_fail_fast": ANSWERED,
    "test_functions_parallel_error.py::test_parallel_function_call_cancels_siblings_on_cancelled_error": SHIELDED,
    "test_functions_parallel_error.py::test_parallel_function_call_cancels_siblings_when_tool_cancels_itself": SHIELDED,
    "test_run_tool_confirmation.py::TestHITLConfirmationFlowWithParallelAgentAndResumableApp"
    "::test_pause_and_resume_on_request_confirmation": HELD,
    "test_workflow_llm_agent_interruptions.py::test_workflow_pause_and_resume_child_interruption": TWO_CALLS,
}


@dataclass(frozen=True)
class Pass:
    """One pass: how each test ended, and how many calls were recorded."""

    outcomes: Mapping[str, str]
    recorded: int

    def overtaken_by(self, again: "Pass | None") -> "Pass":
        """The pass with how its tests ended when some of them were run again."""
        return (
            self if again is None else replace(self, outcomes={**self.outcomes, **again.outcomes})
        )


def differing(found: Mapping[str, Pass]) -> dict[str, str]:
    """By test that ends otherwise with ours, and not as with an idle plugin: how it ends in each pair of passes."""
    names = sorted({name for each in found.values() for name in each.outcomes})
    told = {}
    for name in names:
        ends = {of: each.outcomes.get(name, "missing") for of, each in found.items()}
        other = [
            f"{bare}: {ends[bare]}, {ours}: {ends[ours]}"
            for ours, bare in OURS.items()
            if ends[ours] not in (ends[bare], ends[IDLE])
        ]
        if other:
            told[name] = "; ".join(other)
    return told


def report(found: Mapping[str, Pass]) -> list[str]:
    """What is wrong, a line each; nothing for passes that are alike."""
    other = differing(found)
    short = {name: name.rpartition("/")[2] for each in found.values() for name in each.outcomes}
    unmet = set(short.values()) - {short[name] for name in other}
    lines = [f"{name}: {how}" for name, how in other.items() if short[name] not in INTENDED]
    lines += [
        f"{name} ends like ADK's own now, although it is meant not to: {reason}"
        for name, reason in INTENDED.items()
        if name in unmet
    ]
    return lines + [
        f"{ours}: not one call was recorded" for ours in OURS if not found[ours].recorded
    ]


def holes(found: Mapping[str, Pass]) -> list[str]:
    """What was not compared, a line each: files that need packages which only a part of ADK needs."""
    return [
        f"{name}: cannot be collected here, so nothing in it was compared"
        for name, end in found[BARE].outcomes.items()
        if end == NOT_COLLECTED
    ]
