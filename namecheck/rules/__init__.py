"""One function per inference rule, one file per section of the specification; nothing else.

A rule is a function whose signature is the call's signature: it takes what is known of the
arguments and answers with what is known of the result, or raises `Contradiction`. It never says
no where it cannot tell. Rules know nothing of in-place calls and of ``out=``: those are the
business of `namecheck.operators.infer`.
"""
