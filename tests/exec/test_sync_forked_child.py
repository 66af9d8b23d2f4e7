"""A child that a tool on the shared loop forks has a loop of its own: the sync twins work in it."""

import json
import subprocess
import sys

PROGRAM = """
import json, os, sys
from agent_adapter import Executor, Registry, tool

@tool
async def double(x: int) -> int:
    return 2 * x

executor = Executor(Registry([double]))

@tool
async def fork() -> object:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = executor.run_sync("double", {"x": 2})
        except BaseException as exc:
            said = repr(exc)
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = json.load(pipe)
    os.waitpid(child, 0)
    return said

sys.stdout.write(json.dumps([executor.run_sync(fork), executor.run_sync("double", {"x": 3})]))
"""


def test_a_forked_child_of_a_tool_can_use_the_sync_twins():
    """Item 20: the child gets a fresh loop, and the parent keeps its own."""
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, timeout=60, check=True
    )
    assert json.loads(made.stdout) == [4, 6]
