"""A pytest plugin that puts a plugin first into every PluginManager of Google ADK's own tests, and notes how each test ends.

`--adk-plugin` says which one:

- `none`: none, to see how the tests end by themselves;
- `idle`: one that does nothing, to see what changes with any plugin at all;
- `durable`: `DurableTools(…, allow_unsaved=True).plugin()`, which records the calls of resumable apps.

Most of the tests make apps that are not resumable: with `--resumable`, an app that says nothing about it is.
"""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager

PLUGINS = ("none", "idle", "durable")
NAME = "agent_adapter"
# Between the records of calls, the bridge keeps notes of its own; no tool has such a name.
NOTES = ("#", "@")


class Injected:
    """What stands in every manager of one test: a test that goes on with a second runner has to find its records."""

    def __init__(self, kind: str) -> None:
        self._calls: set[tuple[str, str]] = set()
        self._make = self._durable() if kind == "durable" else BasePlugin

    def plugin(self) -> BasePlugin:
        """A plugin for one more manager."""
        return self._make(name=NAME)

    @property
    def recorded(self) -> int:
        """How many calls have a record."""
        return len(self._calls)

    def _durable(self) -> Any:
        # Here and not above, so that `none` and `idle` judge the tests without our packages.
        from agent_adapter.exec.checkpoints import MemoryCheckpointStore
        from agent_adapter_adk import DurableTools

        calls = self._calls

        class Counting(MemoryCheckpointStore):
            async def claim_call(self, run_id: str, *rest: Any, **step: Any) -> Any:
                _, call, _ = rest
                standing = await super().claim_call(run_id, *rest, **step)
                if standing == call and not call.tool.startswith(NOTES):
                    calls.add((run_id, call.key))
                return standing

        return DurableTools(Counting(), allow_unsaved=True).plugin


class Watch:
    """Puts a plugin into every manager, and notes outcomes and recorded calls by test."""

    def __init__(self, kind: str, file: Path) -> None:
        self.kind = kind
        self.file = file
        self.outcomes: dict[str, str] = {}
        self.recorded: dict[str, int] = {}
        self.injected = Injected(kind)

    def patch(self) -> None:
        """Every manager that is made from now on has the plugin of the test that makes it."""
        stock = PluginManager.__init__

        @functools.wraps(stock)
        def with_plugin(manager: PluginManager, *args: Any, **kwargs: Any) -> None:
            stock(manager, *args, **kwargs)
            if manager.get_plugin(NAME) is None:
                manager.plugins.insert(0, self.injected.plugin())

        PluginManager.__init__ = with_plugin

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.injected = Injected(self.kind)
        result = yield
        if self.injected.recorded:
            self.recorded[item.nodeid] = self.injected.recorded
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if outcome == "passed" else "xfailed"
        elif outcome == "failed" and report.when != "call":
            outcome = f"failed in {report.when}"
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.outcomes[report.nodeid] = "not collected"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(
            f"{sum(self.recorded.values())} tool calls were recorded, in "
            f"{len(self.recorded)} of {len(self.outcomes)} tests"
        )

    def pytest_sessionfinish(self) -> None:
        noted = {"outcomes": self.outcomes, "recorded": self.recorded}
        self.file.write_text(json.dumps(noted), encoding="utf-8")


def make_resumable() -> None:
    """Every app that says nothing about it is resumable from now on."""
    for kind in (App, InvocationContext):
        kind.model_fields["resumability_config"].default = ResumabilityConfig(is_resumable=True)
        kind.model_rebuild(force=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--adk-plugin", choices=PLUGINS, default="none")
    parser.addoption("--resumable", action="store_true")
    parser.addoption("--outcomes", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    watch = Watch(config.getoption("--adk-plugin"), config.getoption("--outcomes"))
    config.pluginmanager.register(watch)
    if watch.kind != "none":
        watch.patch()
    if config.getoption("--resumable"):
        make_resumable()
