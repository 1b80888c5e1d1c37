"""argparse: namespaces, and parsers, whose ``error`` and ``exit`` leave the program."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, result_kind
from namecheck.interpreter.models.standard_library import types

result_kind("argparse.ArgumentParser", "argparse.ArgumentParser")


@model("argparse.Namespace")
def namespace(interpreter: Interpreter, call: Call) -> Value:
    """``argparse.Namespace(name=value)``."""
    return types.namespace(interpreter, call.kwargs, call.store)


@model("argparse.ArgumentParser.error", "argparse.ArgumentParser.exit", open=True)
def leave(interpreter: Interpreter, call: Call) -> Value:
    """``parser.error(message)``, ``parser.exit(status)``."""
    interpreter.fail("SystemExit")
