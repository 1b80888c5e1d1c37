"""One function per inference rule, one file per section of the specification.

A rule is a function whose signature is the call's signature: it takes abstract arguments and
returns the abstract result, or raises `Contradiction`. It raises only where the contradiction is
certain. Rules do not handle in-place calls and ``out=``; `namecheck.operators.infer` does.
"""
