"""unittest: its decorators return a test unchanged, ``fail`` and ``skipTest`` end it."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent
from namecheck.interpreter.models.third_party import pytest

transparent("unittest.*")


@model("unittest.TestCase.fail", open=True)
def fail(interpreter: Interpreter, call: Call) -> Value:
    """``self.fail(reason)``."""
    interpreter.fail("AssertionError")


@model("unittest.TestCase.skipTest", open=True)
def skip(interpreter: Interpreter, call: Call) -> Value:
    """``self.skipTest(reason)`` raises an error of its own."""
    interpreter.fail("Exception")


@model("unittest.TestCase.assertRaises", open=True)
def assert_raises(interpreter: Interpreter, call: Call) -> Value:
    """``self.assertRaises(error)``."""
    return pytest.expecting(interpreter, "unittest.TestCase.assertRaises", call)
