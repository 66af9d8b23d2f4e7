"""Runs one function of a test file in a process of its own; the test file's module is loaded there by its path."""

import importlib.util
from typing import Any


def play(file: str, function: str, arguments: tuple[Any, ...]) -> None:
    """Call `function` of `file`."""
    spec = importlib.util.spec_from_file_location("played", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, function)(*arguments)
