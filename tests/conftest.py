import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("short", settings.get_profile("default"), max_examples=40)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def npm() -> Path:
    folder = REAL_DATA / "npm"
    if not folder.exists():
        pytest.skip("the npm data set is not on this machine")
    return folder
