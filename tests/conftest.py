"""How long the property tests look: the everyday budget, and ``--hypothesis-profile=long``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# What is drawn for an operator is sometimes thrown away, and the machine may be busy.
_PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile(
    "everyday", max_examples=20, derandomize=True, deadline=None, suppress_health_check=_PATIENT
)
settings.register_profile("long", max_examples=2_000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile("everyday")
