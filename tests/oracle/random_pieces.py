"""The pieces of random programs: definitions, loops, branches, containers, ….

Each method draws the text of one piece, to fit the variables that the program has so far.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.random_expressions import NAMES
from tests.oracle.random_idioms import TEMPLATES
from tests.oracle.random_programs import Failed, Grower, Space


class Pieces(Grower):
    """Draws pieces, and grows programs of them."""

    def __init__(self, rng: random.Random, torch: Any) -> None:
        super().__init__(rng, torch)
        self.pieces: tuple[tuple[int, Callable[[], str]], ...] = (
            (5, self.factory),
            (4, self.step),
            (3, self.in_place),
            (5, self.function),
            (2, self.closure),
            (3, self.plain_class),
            (2, self.module_class),
            (2, self.data_class),
            (4, self.loop),
            (2, self.counting),
            (4, self.branch),
            (3, self.comprehension),
            (3, self.guarded),
            (3, self.container),
            (2, self.choice),
            (2, self.constants),
            (2, self.generator),
            (1, self.context),
            (30, self.idiom),
        )

    def grow(self, lines: int) -> str:
        """A program of about this many lines."""
        for index in range(self.flags):
            self.text += f'FLAG_{index} = os.environ.get("FLAG_{index}") == "1"\n'
        for piece in (self.constants, self.factory, self.factory, self.factory):
            self.add(piece)
        weights = [weight for weight, _ in self.pieces]
        for _ in range(lines * 2):
            if self.text.count("\n") >= lines:
                break
            self.add(self.rng.choices(self.pieces, weights)[0][1])
        return self.text

    def factory(self) -> str:
        rank = self.rng.choice((1, 2, 2, 3, 3, 4))
        names: list[str | None] = list(self.rng.sample(NAMES, rank))
        sizes = [self.sizes[str(n)] for n in names]
        shared = self.drawn.tensors(self.space) if self.spaces else {}
        if shared and self.rng.random() < 0.6:
            model = self.rng.choice(list(shared.values()))
            start = self.rng.randrange(model.dim() + 1)
            names, sizes = list(model.names[start:]), list(model.shape[start:])
        for index in range(len(names)):
            if self.rng.random() < 0.1:
                names[index] = None
            if self.rng.random() < 0.08:
                sizes[index] = 1
        target = self.fresh("x")
        return f"{target} = {self.drawn.named(names, sizes, self.space)}\n"

    def step(self) -> str:
        space = self.space
        text = self.chain(self.pick(space), space, self.rng.choice((1, 2, 3)))
        target = self.fresh("y")
        form = self.rng.choice(
            (
                "{0} = {1}",
                "{0} = {1}",
                "print({0} := {1})",
                "{0}, {0}b = {1}, 1",
                "{0}: torch.Tensor = {1}",
                "{0} = (\n    {1}\n)",
                "{0} = {0}c = {1}",
            )
        )
        return form.format(target, text) + "\n"

    def in_place(self) -> str:
        space = self.space
        return self.mutation(self.pick(space), space) + "\n"

    def constants(self) -> str:
        chosen = self.rng.sample(NAMES, self.rng.choice((2, 3)))
        target = self.fresh("K")
        space = self.space
        forms = [
            f"{target} = {chosen[0]!r}",
            f"{target} = {tuple(chosen)!r}",
            f"{target} = {chosen!r}",
            f"{target} = dict(a={chosen[0]!r}, b={chosen[1]!r})",
            f"{target}, *{target}r = {tuple(chosen)!r}",
            f"{target} = '{' '.join(chosen)}'.split()",
            f"{target} = tuple('{''.join(chosen)}')",
        ]
        tensors = [k for k, v in self.drawn.tensors(space).items() if v.dim() > 1]
        if tensors:
            name = self.rng.choice(tensors)
            forms += [
                f"{target} = {name}.names[1:]",
                f"{target} = {name}.names[:-1]",
                f"{target} = list({name}.names)",
                f"{target} = {name}.names[::-1]",
                f"{target} = [n for n in {name}.names if n is not None and n != {chosen[0]!r}]",
                f"{target} = sorted(set(n for n in {name}.names if n))",
            ]
        return self.rng.choice(forms) + "\n"

    def arguments(self, space: Space) -> tuple[list[str], list[str]]:
        """Parameters and the variables that are passed for them."""
        passed = [self.pick(space, least=1) for _ in range(self.rng.choice((1, 1, 2)))]
        return [self.fresh("p") for _ in passed], passed

    def function(self) -> str:
        space = self.space
        parameters, passed = self.arguments(space)
        inner = self.scratch(
            space, **{p: space[a] for p, a in zip(parameters, passed, strict=True)}
        )
        shown, given = list(parameters), list(passed)
        style = self.rng.choice(
            ("plain", "default", "keyword", "star", "star_names", "dict", "typed")
        )
        word = self.rng.choice([n for n in space[passed[0]].names if n] or ["N"])
        if style == "default":
            inner["dim"] = word
            shown.append(f"dim={word!r}")
        elif style == "keyword":
            inner["dim"] = word
            shown.append("*, dim")
            given.append(f"dim={self.drawn.name(word, space)}")
        elif style == "star_names":
            inner["dims"] = tuple(n for n in space[passed[0]].names if n)
            shown.append("*dims")
            given += map(repr, inner["dims"])
        elif style == "dict":
            inner["options"] = {"dim": word}
            shown.append("**options")
            given.append(f"dim={word!r}")
        elif style == "typed":
            shown = [f"{p}: torch.Tensor" for p in shown]
        lines, result = self.block(inner, self.rng.choice((1, 2, 3)), local=parameters)
        name = self.fresh("f")
        if style == "star":
            head = [f"def {name}(*items):", f"    {', '.join(parameters)}, = items"]
        else:
            head = [f"def {name}({', '.join(shown)}):"]
        body = [f"    {line}" for line in lines]
        if self.flags and self.rng.random() < 0.3:
            body += [
                f"    if FLAG_{self.rng.randrange(self.flags)}:",
                f"        return {parameters[0]}",
            ]
        elif self.rng.random() < 0.2:
            body += [
                f"    if {parameters[0]}.dim() == {self.rng.choice((2, 3))}:",
                f"        return {parameters[0]}",
            ]
        if self.rng.random() < 0.15:
            body.append(f"    return {parameters[0]}, {result}")
            call = f"{self.fresh('r')}, {self.fresh('r')} = {name}({', '.join(given)})"
        else:
            body.append(f"    return {result}")
            call = f"{self.fresh('r')} = {name}({', '.join(given)})"
        calls = [call]
        if style in ("plain", "default", "typed") and self.rng.random() < 0.5:
            again = [self.pick(space) for _ in parameters]
            calls.append(f"{self.fresh('r')} = {name}({', '.join(again)})")
        return "\n".join([*head, *body, *calls]) + "\n"

    def closure(self) -> str:
        space = self.space
        name = self.pick(space, least=1)
        parameter = self.fresh("p")
        inner = self.scratch(space, **{parameter: space[name]})
        visible = (
            inner if self.rng.random() < 0.5 else {k: v for k, v in inner.items() if k[0] != "y"}
        )
        text = self.chain(parameter, visible, self.rng.choice((1, 2)))
        if self.rng.random() < 0.5:
            function = self.fresh("g")
            return (
                f"{function} = lambda {parameter}: {text}\n{self.fresh('r')} = {function}({name})\n"
            )
        outer, function = self.fresh("make"), self.fresh("g")
        word = self.rng.choice([n for n in space[name].names if n] or ["N"])
        text = text.replace(repr(word), "word")
        return (
            f"def {outer}(word):\n    def inner({parameter}):\n"
            f"        return {text}\n    return inner\n"
            f"{function} = {outer}({word!r})\n{self.fresh('r')} = {function}({name})\n"
        )

    def plain_class(self) -> str:
        space = self.space
        held, passed = self.pick(space, least=1), self.pick(space, least=1)
        cls, thing, result = self.fresh("Box"), self.fresh("box"), self.fresh("r")
        inner = self.scratch(space, p=space[passed], kept=space[held])
        text = self.chain("p", inner, 2).replace("kept", "self.kept")
        change = self.chain("kept", inner, 1).replace("kept", "self.kept")
        method = self.rng.choice(("apply", "__call__"))
        call = thing if method == "__call__" else f"{thing}.apply"
        head = [
            f"class {cls}:",
            f"    dim = {self.rng.choice(NAMES)!r}",
            "    def __init__(self, kept):",
            "        self.kept = kept",
            f"    def {method}(self, p):",
            f"        self.last = {text}",
            "        return self.last",
        ]
        if self.rng.random() < 0.5:
            head += ["    @property", "    def changed(self):", f"        return {change}"]
            tail = [f"{self.fresh('r')} = {thing}.changed"]
        else:
            head += [
                "    def update(self):",
                f"        self.kept = {change}",
                "        return self",
            ]
            tail = [f"{self.fresh('r')} = {thing}.update().kept"]
        if self.rng.random() < 0.3:
            child = self.fresh("Child")
            head += [
                f"class {child}({cls}):",
                "    def __init__(self, kept, extra=2):",
                "        super().__init__(kept * extra)",
            ]
            cls = child
        return (
            "\n".join([*head, f"{thing} = {cls}({held})", f"{result} = {call}({passed})", *tail])
            + "\n"
        )

    def module_class(self) -> str:
        space = self.space
        passed, weight = self.pick(space, least=1), self.pick(space, least=1)
        inner = self.scratch(space, p=space[passed], weight=space[weight])
        text = self.chain("p", inner, 2).replace("weight", "self.weight")
        cls, thing = self.fresh("Net"), self.fresh("net")
        keep = self.rng.choice(("self.weight = weight", 'self.register_buffer("weight", weight)'))
        return (
            f"class {cls}(nn.Module):\n    def __init__(self, weight):\n"
            f"        super().__init__()\n"
            f"        {keep}\n        self.act = nn.ReLU()\n"
            f"    def forward(self, p):\n        p = {text}\n"
            f"        return self.act(p)\n{thing} = {cls}({weight})\n"
            f"{self.fresh('r')} = {thing}({passed})\n"
        )

    def data_class(self) -> str:
        space = self.space
        held = self.pick(space, least=1)
        word = self.rng.choice([n for n in space[held].names if n] or ["N"])
        cls, thing = self.fresh("Data"), self.fresh("data")
        inner = self.scratch(space, data=space[held])
        text = (
            self.chain("data", inner, 1)
            .replace("data", "self.data")
            .replace(repr(word), "self.dim")
        )
        return (
            f"@dataclass\nclass {cls}:\n    data: torch.Tensor\n    dim: str = {word!r}\n"
            f"    parts: list = field(default_factory=list)\n    def get(self):\n"
            f"        self.parts.append({text})\n        return self.parts[-1]\n"
            f"{thing} = {cls}({self.rng.choice((held, f'data={held}'))})\n"
            f"{self.fresh('r')} = {thing}.get()\n"
        )

    def loop(self) -> str:
        space = self.space
        total = self.fresh("t")
        start = self.pick(space, least=1)
        inner = self.scratch(space, item=space[start], **{total: space[start]})
        words = [n for n in space[start].names if n]
        kind = self.rng.choice(("range", "literal", "zip", "enumerate", "items", "names"))
        other = self.pick(space, least=1)
        items = {
            "range": "range(2)",
            "literal": f"({start}, {other})",
            "zip": f"zip([{start}, {start}], {NAMES[:2]!r})",
            "enumerate": f"enumerate([{start}, {start}.abs()])",
            "items": f"{{'a': {start}, 'b': {other}}}.items()",
            "names": f"{tuple(words)!r}",
        }[kind]
        target = {
            "range": "i",
            "literal": "item",
            "zip": "item, word",
            "enumerate": "i, item",
            "items": "key, item",
            "names": "word",
        }[kind]
        inner.update(i=0, word=words[0] if words else "N", key="a")
        lines, _ = self.block(
            inner, self.rng.choice((1, 2)), local=[total, "item"] if "item" in target else [total]
        )
        body = [f"    {line}" for line in lines]
        if kind in ("range", "enumerate") and self.rng.random() < 0.5:
            body.insert(
                0,
                f"    if i == {self.rng.choice((0, 1, 5))}:\n"
                f"        {self.rng.choice(('break', 'continue'))}",
            )
        elif self.flags and self.rng.random() < 0.4:
            body.insert(
                self.rng.randrange(len(body) + 1),
                f"    if FLAG_0:\n"
                f"        {self.rng.choice(('break', 'continue', f'{total} = {total}.abs()'))}",
            )
        if self.rng.random() < 0.15:
            body.append(f"else:\n    {total} = {total}.clone()")
        return "\n".join([f"{total} = {start}", f"for {target} in {items}:", *body]) + "\n"

    def counting(self) -> str:
        space = self.space
        total, count = self.fresh("t"), self.fresh("n")
        start = self.pick(space, least=1)
        inner = self.scratch(space, **{total: space[start]})
        lines, _ = self.block(inner, 1, local=[total])
        body = [f"    {line}" for line in lines]
        test = self.rng.choice(
            (f"{count} < 2", f"{count} < {total}.dim()", "True", f"{total}.dim() > 2")
        )
        body.append(f"    {count} += 1")
        body.append(f"    if {count} > {self.rng.choice((1, 3))}:\n        break")
        return "\n".join([f"{total}, {count} = {start}, 0", f"while {test}:", *body]) + "\n"

    def branch(self) -> str:
        target = self.fresh("b")
        if self.flags and self.rng.random() < 0.7:
            flag = f"FLAG_{self.rng.randrange(self.flags)}"
            yes = self.rng.choice([s for s in self.spaces if s[flag]])
            no = self.rng.choice([s for s in self.spaces if not s[flag]])
            test = flag
        else:
            yes = no = self.space
            name = self.pick(yes, least=1)
            test = self.rng.choice(
                (
                    f"{name}.dim() == 3",
                    f"{name}.size(0) > 2",
                    f"{name}.has_names()",
                    f"'C' in {name}.names",
                    f"{name}.names[0] == 'N'",
                    f"{name}.shape[-1] == 2",
                    f"isinstance({name}, torch.Tensor)",
                    f"len({name}.names) > 2",
                )
            )
        one, two = self.pick(yes), self.pick(no)
        first = self.chain(one, yes, self.rng.choice((0, 1)))
        second = self.chain(two, no, self.rng.choice((0, 1)))
        if self.rng.random() < 0.2:
            return f"{target} = {one}\nif {test}:\n    {target} = {first}\n"
        return f"if {test}:\n    {target} = {first}\nelse:\n    {target} = {second}\n"

    def comprehension(self) -> str:
        space = self.space
        start = self.pick(space, least=1)
        inner = self.scratch(space, e=space[start])
        text = self.chain("e", inner, 1)
        target, result = self.fresh("l"), self.fresh("r")
        words = [n for n in space[start].names if n]
        forms = [
            f"{target} = [{text} for e in [{start}, {start}.clone()]]\n"
            f"{result} = {target}[0] + {target}[1]",
            f"{target} = {{k: {text} for k, e in {{'a': {start}}}.items()}}\n"
            f"{result} = {target}['a']",
            f"{target} = [{start}.sum(n) for n in {tuple(words)!r}]\n{result} = {target}[-1]",
            f"{result} = sum({text} for e in ({start}, {start}))",
            f"{target} = [{text} for e in {start}.unbind(0)]\n{result} = {target}[0]",
            f"{target} = tuple(map(lambda e: {text}, [{start}]))\n{result}, = {target}",
            f"{target} = {{n: {start}.size(n) for n in {start}.names if n}}\n"
            f"{result} = torch.rand(*{target}.values(), names=tuple({target}))",
        ]
        return self.rng.choice(forms) + "\n"

    def guarded(self) -> str:
        space = self.space
        target, start = self.fresh("g"), self.pick(space, least=1)
        text = self.chain(start, space, 1)
        broken = self.rng.choice(
            (
                f"{start}.sum('Z')",
                f"{start}.refine_names(*'ZYXVUS')",
                f"{start}.rename(Z='N')",
                f"{start} + {self.pick(space)}",
                f"{start}.align_to('Z')",
                "int('x')",
            )
        )
        risky = self.rng.choice((broken, broken, text))
        kind = self.rng.choice(("RuntimeError", "Exception", "(RuntimeError, ValueError)"))
        forms = [
            f"try:\n    {target} = {risky}\nexcept {kind}:\n    {target} = {text}",
            f"try:\n    {target} = {text}\nfinally:\n    {target}d = {start}",
            f"{target} = {start}\ntry:\n    {target} = {text}\n"
            f"    {target} = {risky}\nexcept {kind} as error:\n    pass",
            f"try:\n    {target} = {text}\nexcept {kind}:\n"
            f"    {target} = None\nelse:\n    {target} = {target} * 2",
        ]
        return self.rng.choice(forms) + "\n"

    def container(self) -> str:
        space = self.space
        one, two = self.pick(space), self.pick(space)
        target, result = self.fresh("c"), self.fresh("r")
        forms = [
            f"{target} = [{one}]\n{target}.append({two})\n{result} = {target}.pop()",
            f"{target} = {{'x': {one}}}\n{target}['y'] = {two}\n{result} = {target}['x'] * 1",
            f"{target} = ({one}, {two})\n{result}, {result}b = {target}",
            f"{target} = [{one}, {two}]\n{result}, *{result}s = {target}",
            f"{target} = {{}}\n{target}.update(a={one}, b={two})\n{result} = {target}.get('b')",
            f"{target} = [{one}] * 2\n{target}[1] = {two}\n{result} = {target}[-1]",
            f"{target} = [({one}, 'N'), ({two}, 'C')]\n{result} = {target}[0][0]",
            f"{one}c, {two}d = {two}, {one}\n{result} = {two}d.abs()",
            f"{target} = [{one}] + [{two}]\n{target}.insert(0, {two})\n{result} = {target}[1]",
            f"{target} = {{**{{'q': {one}}}, 'z': {two}}}\n{result} = list({target}.values())[0]",
            f"{target} = list(zip([{one}], [{two}]))\n({result}, {result}b), = {target}",
        ]
        return self.rng.choice(forms) + "\n"

    def choice(self) -> str:
        space = self.space
        one, two = self.pick(space), self.pick(space)
        tests = [
            f"{one}.dim() > 1",
            f"{one}.has_names()",
            *(f"FLAG_{i}" for i in range(self.flags)),
        ]
        test = self.rng.choice(tests)
        target = self.fresh("q")
        forms = [
            f"{target} = {one} if {test} else {two}",
            f"{target} = {test} and {one}",
            f"if ({target} := {one}).dim():\n    {target} = {target}.sum(0)",
            f"{target} = None\nif {test}:\n    {target} = {one}\n"
            f"if {target} is None:\n    {target} = {two}",
            f"{target} = None\nif {target} is not None:\n    {target} = {target}.sum('Z')",
        ]
        return self.rng.choice(forms) + "\n"

    def generator(self) -> str:
        space = self.space
        start = self.pick(space, least=1)
        inner = self.scratch(space, p=space[start])
        text = self.chain("p", inner, 1)
        name, result = self.fresh("gen"), self.fresh("r")
        use = self.rng.choice(
            (
                f"{result} = list({name}({start}))[-1]",
                f"for {result} in {name}({start}):\n    pass",
                f"{result} = next({name}({start}))",
                f"{result}, {result}b = {name}({start})",
            )
        )
        return f"def {name}(p):\n    yield p\n    p = {text}\n    yield p\n{use}\n"

    def context(self) -> str:
        space = self.space
        target = self.fresh("w")
        text = self.chain(self.pick(space), space, 1)
        head = self.rng.choice(
            ("torch.no_grad()", "torch.enable_grad()", "torch.autograd.set_detect_anomaly(False)")
        )
        return f"with {head}:\n    {target} = {text}\n"

    def idiom(self) -> str:
        """A template filled in: see random_idioms.py."""
        space = self.space
        names = [
            key
            for key, value in self.drawn.tensors(space).items()
            if 0 < value.dim() < 5 and all(value.names)
        ]
        if not names:
            raise Failed
        x, y = self.rng.choice(names[-8:]), self.pick(space, least=1)
        a, b = self.rng.choice(space[x].names), self.rng.choice(space[x].names)
        free = [name for name in NAMES if name not in space[x].names]
        tests = [f"{x}.dim() > 1", f"{a!r} == {x}.names[0]", f"{x}.size(0) == 2"]
        tests += [f"FLAG_{index}" for index in range(self.flags)] * 3
        inner = self.scratch(space, p=space[x])
        return (
            self.rng.choice(TEMPLATES).format(
                x=x,
                y=y,
                a=a,
                b=b,
                k=self.rng.choice(free),
                f=self.fresh(""),
                flag=self.rng.choice(tests),
                on_p=self.chain("p", inner, 1),
            )
            + "\n"
        )
