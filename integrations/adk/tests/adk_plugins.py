"""Plugins made of functions."""

from collections.abc import Callable
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin


def plugin(**callbacks: Callable[..., Any]) -> BasePlugin:
    """A plugin with these callbacks."""
    kind = type("Plugin", (BasePlugin,), {n: staticmethod(call) for n, call in callbacks.items()})
    return kind(name="plugin")
