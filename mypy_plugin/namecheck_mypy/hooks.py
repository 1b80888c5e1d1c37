"""The hooks of the plugin; no exception in them ends mypy.

A run without changes is short: modules that it does not need are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from mypy.errors import CompileError
from mypy.nodes import MypyFile
from mypy.options import Options
from mypy.plugin import (
    AnalyzeTypeContext,
    AttributeContext,
    ClassDefContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import FunctionLike, Type

from namecheck_mypy import surfaces
from namecheck_mypy.findings import BuildFindings
from namecheck_mypy.reporting import Reporter
from namecheck_mypy.surfaces import ADAPTER
from namecheck_mypy.versions import vocabulary
from namecheck_mypy.vocabulary import Vocabulary

if TYPE_CHECKING:
    from namecheck_mypy.daemon import Daemon

C = TypeVar("C")
T = TypeVar("T")
Find: TypeAlias = Callable[[str], Callable[[C], T] | None]

_TENSORS: Final = "torch._tensor"

# No digest: a file that mypy compares with it is always parsed again.
_NEVER_STORED: Final = "never"

# The attributes of contexts with the default answer of a hook.
_DEFAULTS: Final = ("default_signature", "default_return_type", "default_attr_type")


class NamecheckPlugin(Plugin):
    """Reports the findings of ``namecheck check`` as errors of mypy."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._findings = BuildFindings(options)
        self._reporter = Reporter(self._findings)
        self._vocabulary = Vocabulary()
        # A daemon that starts from a cache does not report the errors that are stored there.
        self._forgets = options.use_fine_grained_cache
        self._daemon: Daemon | None = None
        if options.fine_grained_incremental:
            from namecheck_mypy.daemon import Daemon

            self._daemon = Daemon(self._findings, self._reporter)

    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        """Keep the modules of the build, once all are known."""
        super().set_modules(modules)
        self._findings.modules = modules
        self._safely("", self._findings.prepare, None)
        if self._daemon is not None:
            self._safely("", self._daemon.built, None)

    def report_config_data(self, config_ctx: ReportConfigContext) -> Any:
        """Data that changes with the findings of a file, so that mypy checks the file again."""
        path = config_ctx.path
        if surfaces.is_foreign(path):
            return vocabulary() if config_ctx.id == _TENSORS else None
        digest = self._safely(path, lambda: self._findings.digest(path), "")
        if config_ctx.is_check and self._forgets:
            digest = ""
        elif config_ctx.is_check and digest and not ADAPTER.calls_after_check:
            digest = _NEVER_STORED
        return [vocabulary(), digest]

    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        """Report the findings of a file; mypy calls this once, after checking the file."""
        if not surfaces.is_foreign(file.path):
            self._safely(file.path, lambda: self._reporter.report(file), None)
        return set()

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Notify the daemon of a file that will be checked; report it if there is no later call."""
        daemon = self._daemon
        if daemon is not None:
            self._safely(file.path, lambda: daemon.parsed(file), None)
        if not ADAPTER.calls_after_check and not surfaces.is_foreign(file.path):
            self._safely(file.path, lambda: self._reporter.report(file), None)
        return []

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """Notify the daemon of a type that is analysed; the type is not changed."""
        if self._daemon is not None:
            self._safely("", self._daemon.touched, None)
        return None

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Add the naming API to Tensor."""
        return self._hook(self._vocabulary.base_class_hook, fullname)

    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        """Let functions of torch take names."""
        return self._hook(self._vocabulary.function_signature_hook, fullname)

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """Let methods of tensors take names."""
        return self._hook(self._vocabulary.method_signature_hook, fullname)

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Give the call of a module the declared result of its ``forward``."""
        return self._hook(self._vocabulary.method_hook, fullname)

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Give ``x.names`` the inferred names where it is revealed."""
        if not fullname.endswith(".names"):
            return None
        from namecheck_mypy.reveals import Reveals

        return self._shielded(Reveals(self._findings).names)

    def _hook(self, find: Find[C, T], fullname: str) -> Callable[[C], T] | None:
        """The hook for a name; mypy looks up very many of them."""
        try:
            hook = find(fullname)
        except Exception as error:
            self._reporter.fault(self._reporter.current, error)
            return None
        return None if hook is None else self._shielded(hook)

    def _shielded(self, hook: Callable[[C], T]) -> Callable[[C], T]:
        """A hook that reports its exceptions, and then returns the default answer."""

        def shielded(ctx: C) -> T:
            try:
                return hook(ctx)
            except Exception as error:
                self._reporter.fault(self._reporter.current, error)
                otherwise: T = _default(ctx)
                return otherwise

        return shielded

    def _safely(self, path: str, action: Callable[[], T], otherwise: T) -> T:
        try:
            return action()
        except CompileError:
            raise
        except Exception as error:
            self._reporter.fault(path, error)
            return otherwise


def _default(ctx: Any) -> Any:
    return next((getattr(ctx, name) for name in _DEFAULTS if hasattr(ctx, name)), None)
