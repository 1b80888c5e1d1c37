"""What libraries do when a program calls them: torch, builtins, the standard library, others.

One file models one library. To add a library, add a file here, in `standard_library` or in
`third_party`; it is discovered, and nothing else is edited (`registry.discover`). In the file, a
function of ``(machine, call)`` answers what a call gives::

    @model("functools.reduce")
    def reduce(machine: Machine, call: Call) -> Value:
        items = primitives.items(machine, call.argument(1), call, whole=True)
        ...

`call.argument` reads an argument, `primitives` goes through items and calls back, and
``machine.fresh("reason")`` is a value of which nothing is known. `registry` has the other ways to
register: `family` for the rest of a library, `decorator`, `transparent` for decorators that leave a
function what it was, `result_kind`. Search for the dotted name to find a model: what
``dataclasses.replace`` does stands under ``@model("dataclasses.replace")``. Operators that the
table has, those of einops for instance, need a row of it and no model.
"""
