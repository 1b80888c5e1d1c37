"""What libraries do when a program calls them: torch, builtins, the standard library, others.

One file models one library, and is called after it. To add a library, add a file in
`standard_library` or in `third_party`: it is found when a program first names the library, and
nothing else is edited. In it, functions of
``(interpreter, call)`` answer what calls give, each under the dotted name that it models::

    @model("random.choice")
    def choice(interpreter: Interpreter, call: Call) -> Value:
        content = primitives.items(interpreter, call.argument(0, "seq"), call, whole=False)
        return primitives.pick(interpreter, content, call)

`call.argument` reads an argument, `primitives` goes through items and calls back, and
``interpreter.fresh("reason")`` is a value of which nothing is known. `registry` has the other
decorators: `family` for all else that a library has, `method`, `base`, `decorator`, `transparent`,
`result_kind`. Two models of one name are an error at import. To find a model, search for the name:
what ``dataclasses.replace`` does stands under ``@model("dataclasses.replace")``. Functions that the
table of operators has, those of einops for instance, need a row of it and no model.
"""
