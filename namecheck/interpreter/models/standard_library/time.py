"""time: clocks return numbers."""

from __future__ import annotations

from namecheck.interpreter.models.registry import result_kind

result_kind("float", "time.perf_counter", "time.time")
