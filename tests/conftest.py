"""What tests share; how long the property tests look, and longer: ``--hypothesis-profile=long``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

# Tests run in as many processes as there are cores: torch leaves each of them one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What is drawn for an operator is sometimes thrown away, and the machine may be busy.
_PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile(
    "everyday", max_examples=20, derandomize=True, deadline=None, suppress_health_check=_PATIENT
)
settings.register_profile("long", max_examples=2_000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile("everyday")


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in a process of its own, with more variables in its environment."""

    def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environment},
        )

    return run
