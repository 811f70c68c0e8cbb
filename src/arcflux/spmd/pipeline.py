"""Numba's compiler without what kernels have no use for: a first run waits mostly for Numba, little for LLVM.

Kernels have no closures, comprehensions or expressions over whole arrays, so the passes that look for them are left
out; and the same operation on the same types, of which a kernel has hundreds, is resolved once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import InlineOverloads, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes, LiteralUnroll, MakeFunctionToJitFunction, WithLifting

__all__ = ["Lean"]

_UNUSED = (InlineClosureLikes, InlineOverloads, LiteralUnroll, MakeFunctionToJitFunction, NopythonRewrites, WithLifting)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):  # type: ignore[misc]
    """Type inference that remembers, while it lasts, what operations are on which types."""

    def run_pass(self, state: Any) -> Any:
        context = state.typingctx
        if "resolve_function_type" in vars(context):  # a function that another one calls is compiled on the way
            return super().run_pass(state)
        context.resolve_function_type = _remembering(context.resolve_function_type)
        try:
            return super().run_pass(state)
        finally:
            del context.resolve_function_type


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def resolved(function: Any, args: Any, kws: Any) -> Any:
        if kws or not isinstance(function, types.Function | types.NumberClass):
            return resolve(function, args, kws)
        key = function, tuple(args)
        if key not in known:
            known[key] = resolve(function, args, kws)
        return known[key]

    return resolved


class Lean(CompilerBase):  # type: ignore[misc]
    """The passes of Numba's own compiler, without those that would find nothing."""

    def define_pipelines(self) -> list[PassManager]:
        """One way only: what does not compile is an error."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        made = PassManager("arcflux")
        for step, why in usual.passes:
            if step not in _UNUSED:
                made.add_pass(_Inference if step is NopythonTypeInference else step, why)
        made.finalize()
        return [made]
