"""What the tests of both bridges share: readable failures of the published contract."""  # noqa: INP001 - the folder holds distributions, it is no package

import pytest

pytest.register_assert_rewrite("agent_adapter.testing")
