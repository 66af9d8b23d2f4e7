"""is_control_flow and register_control_flow, items 1, 3 and 5 to 9."""

import asyncio

import pytest

import agent_adapter
from agent_adapter import ToolUsageError
from agent_adapter.exec import control, is_control_flow, register_control_flow


class Pause(Exception):
    pass


class LaterPause(Pause):
    pass


class NeverRegistered(Exception):
    pass


class GraphBubbleUp(Exception):
    """A class of this name made here: no framework is imported."""


class GraphInterrupt(GraphBubbleUp):
    pass


class OnlyAnAttribute(Exception):
    GraphBubbleUp = GraphBubbleUp


register_control_flow(Pause)


def test_the_seam_is_importable_and_not_exported():
    """Item 1."""
    from agent_adapter.exec import integration

    assert "integration" not in agent_adapter.exec.__all__
    assert all(hasattr(agent_adapter.exec, name) for name in agent_adapter.exec.__all__)
    assert all(hasattr(integration, name) for name in integration.__all__)


def test_control_re_exports_the_same_objects():
    """Item 3."""
    assert control.is_control_flow is agent_adapter.exec.is_control_flow
    assert control.register_control_flow is agent_adapter.exec.register_control_flow


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        pytest.param(asyncio.CancelledError(), True, id="item 5: cancellation"),
        pytest.param(ValueError(), False, id="item 5: an ordinary error"),
        pytest.param(KeyboardInterrupt(), False, id="item 5: an interrupt"),
        pytest.param(Pause(), True, id="item 6: a registered type"),
        pytest.param(LaterPause(), True, id="item 6: a class below it"),
        pytest.param(NeverRegistered(), False, id="item 6: another class"),
        pytest.param(GraphBubbleUp(), True, id="item 7: the name"),
        pytest.param(GraphInterrupt(), True, id="item 7: the name of a base"),
        pytest.param(OnlyAnAttribute(), False, id="item 7: an attribute only"),
        pytest.param(ExceptionGroup("g", [ValueError(), Pause()]), True, id="item 8: group"),
        pytest.param(
            BaseExceptionGroup("g", [asyncio.CancelledError()]), True, id="item 8: base group"
        ),
        pytest.param(
            ExceptionGroup("g", [ExceptionGroup("h", [ValueError(), Pause()])]),
            True,
            id="item 8: nested",
        ),
        pytest.param(
            ExceptionGroup("g", [ValueError(), KeyError()]), False, id="item 8: errors only"
        ),
    ],
)
def test_what_is_control_flow(exc, expected):
    assert is_control_flow(exc) is expected


@pytest.mark.parametrize(
    "types", [(), (int,), ("x",), (NeverRegistered, int), (NeverRegistered, None)]
)
def test_one_wrong_type_and_nothing_is_registered(types):
    """Item 9."""
    with pytest.raises(ToolUsageError, match="one or more exception classes"):
        register_control_flow(*types)
    assert is_control_flow(NeverRegistered()) is False


def test_registering_again_is_fine():
    register_control_flow(Pause, Pause)
    assert is_control_flow(Pause())


def test_a_deep_group_is_no_problem():
    group: BaseException = Pause()
    for _ in range(5000):
        group = BaseExceptionGroup("g", [group])
    assert is_control_flow(group)
    while isinstance(group, BaseExceptionGroup):
        # Unwound from outside: the interpreter's own clean-up of so deep a chain is recursive.
        (group,) = group.exceptions
