"""One pass of pytest over a framework's own tests, untouched by this repository's settings."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
# How a harness's user says where the tests are, when they cannot be fetched.
BY_HAND = "UPSTREAM_TESTS=<folder>"


def run(root: Path, names: Sequence[str], plugin: str, *options: str) -> int:
    """The exit code of one pass.

    Args:
        root: the folder that the tests are run in, and that the names start from.
        names: files, folders and single tests.
        plugin: the module of this folder that is the pass's pytest plugin.
        options: what else pytest is told.

    Raises:
        SystemExit: the folder does not hold these tests.
    """
    missing = [name for name in names if not (root / name.partition("::")[0]).exists()]
    if missing:
        sys.exit(f"{root}: no {', '.join(missing)}")
    pytest = [sys.executable, "-m", "pytest", "--quiet", "-p", plugin, *options]
    alone = ["-c", os.devnull, "--rootdir", str(root), "-p", "no:cacheprovider"]
    loops = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    quiet = ["--disable-warnings", "--timeout=60"]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [*pytest, *alone, *loops, *quiet, *names]
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode
