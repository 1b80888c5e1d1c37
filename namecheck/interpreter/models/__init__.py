"""Models of libraries: torch, builtins, the standard library, others.

One file models one library and has its name. To add a library, add a file in `standard_library` or
in `third_party`: it is imported when a program first names the library, and no other file changes.
In it, functions of ``(interpreter, call)`` return the results of calls, each under the dotted name
that it models::

    @model("random.choice")
    def choice(interpreter: Interpreter, call: Call) -> Value:
        content = primitives.items(interpreter, call.argument(0, "seq"), call, whole=False)
        return primitives.pick(interpreter, content, call)

`call.argument` reads an argument, `primitives` iterates items and calls back, and
``interpreter.fresh("reason")`` is an unknown value. `registry` has the other decorators: `family`
for everything else in a library, `method`, `base`, `decorator`, `transparent`, `result_kind`. Two
models of one name are an error at import. To find a model, search for the name: that of
``dataclasses.replace`` is under ``@model("dataclasses.replace")``. Functions in the table of
operators, those of einops for instance, need a row and no model.
"""
