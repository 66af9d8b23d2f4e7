"""Registry: unique names, look-up, subsets."""

import pytest

from agent_adapter import Registry, ToolUsageError, tool


@tool
def one() -> int:
    """One."""
    return 1


@tool
def two() -> int:
    """Two."""
    return 2


def test_tools_are_found_by_name_in_the_order_they_were_added():
    registry = Registry([two])
    registry.add(one)
    assert registry.names() == ["two", "one"]
    assert registry.get("one") is one
    assert registry.get("three") is None
    assert registry.specs() == [two.spec, one.spec]
    assert (len(registry), "one" in registry, "three" in registry) == (2, True, False)


def test_two_tools_with_one_name_are_refused_and_the_same_tool_again_is_not():
    registry = Registry([one])
    registry.add(one)
    with pytest.raises(ToolUsageError, match="'one' is registered already"):
        registry.add(tool(name="one")(lambda: 3))
    assert registry.get("one") is one


def test_a_bare_function_is_refused():
    with pytest.raises(ToolUsageError, match="decorate the function with @tool"):
        Registry([print])


def test_a_subset_has_these_tools_alone_and_refuses_unknown_names():
    registry = Registry([one, two])
    assert registry.subset(["two"]).names() == ["two"]
    with pytest.raises(ToolUsageError, match="no such tools: 'three'"):
        registry.subset(["one", "three"])
