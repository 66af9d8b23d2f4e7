"""Facades that find a name's home when the name is first used, so that importing the package itself costs next to nothing."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def from_homes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`.

    Args:
        package: its name.
        homes: by module, the names that live there, separated by spaces.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(home_of[name]), name)
        # The next use is a plain look-up.
        setattr(sys.modules[package], name, found)
        return found

    return find
