"""Lines that fail at run time, or request too much."""

from __future__ import annotations

from typing import Final

LINES: Final = """
x = (1, 2)[::0]
x = "ab"[::0]
x = [1, 2][slice(None, None, 0)]
x = list(itertools.islice([1, 2, 3], 0, None, 0))
x = list(range(10**12))
x = range(0, 5, 0)
x = 10**10**10
x = pow(10, 10**9)
x = 1 << 10**12
x = math.factorial(10**9)
x = "a" * 10**12
x = ["a"] * 10**10
x = "a".ljust(10**12)
x = "a".zfill(10**12)
x = "{0.x}".format(1)
x = "{:>10000000000}".format(1)
x = "%10000000000d" % 1
x = "%*d" % (10**11, 1)
x = f"{1:10000000000}"
x = "%d" % "x"
x = "{} {a}".format(1)
x = chr(-1)
x = int("z")
x = divmod(1, 0)
x = max([])
x = sorted([1, "a"])
x = dict([1])
x = {[]: 1}
x = [].pop()
a, b = 1
a, *b = ()
x = next(iter([]))
x = list(itertools.count())
x = list(itertools.product("ab", repeat=100))
x = torch.rand(2, names=("N",) * 10**9)
x = torch.rand(*range(10**7))
x = torch.rand(10**9).split(1)
x = torch.rand(10**9).unbind(0)
x = torch.rand(10**9).chunk(10**9)
x = torch.rand(10**9).tensor_split(10**9)
a, b = torch.rand(10**9)
x = [*torch.rand(10**9)]
for row in torch.rand(10**9): pass
x = torch.rand(2)[::0]
x = torch.rand(5).unfold(0, 2, 0)
x = torch.rand(4).unflatten(0, (-1, 0))
x = torch.rand(2, 3).reshape(0, -1)
x = torch.tensor([[1, 2], [3]])
x = range(1 << 70)
x = range(-(1 << 70), 1 << 70, 3)
x = [1, 2]; x[::3] = [1, 2]
x = [1, 2]; x[::0] = [1, 2]
x = [1, 2]; del x[::0]
x = torch.relu_()
x = torch.round_(decimals=2)
x = torch.nn.Parameter({slice(3): torch.rand(2), (slice(3), 1): 1})
x = torch.rand(2, 3, names=("N", "C")).transpose(*torch.rand(2, 3).shape)
x = [torch.rand(a.shape).transpose(a.shape[0], -1) for a in open("f")]
x = torch.permute(torch.rand(2, 3), 1)
x = torch.permute(torch.rand(2, 3), None)
x = torch.permute_copy(torch.rand(2, 3), dims=1)
x = torch.relu_(input=torch.rand(2, 3))
x = torch.nn.Parameter({(1, 2): torch.rand(2), frozenset(): 1})
x = torch.nn.ModuleDict({[]: 1, {}: 2})
x = torch.rand(2, 3, names=("N", "C")).permute("N", torch.rand(2))
x = torch.permute(torch.rand(2, 3, names=("N", "C")), ["N", 0.5])
x = torch.rand(2, 3, names=("N", "C")).sum(["N", torch.rand(2)])
x = torch.nn.functional.interpolate(torch.rand(2, 3), ())
x = torch.rand(2, 3, names=("N", "C")).rot90(1, None)
""".strip().split("\n")
