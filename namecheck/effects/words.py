"""The grammar of the columns of a row, which are parsed once, with the row.

A column states an attribute of the result in words, after ``; `` torch's error, after `` | `` the
errors for further results; ``params`` and ``ctor`` state parameters, ``holds`` sizes, ``native``
the calls that torch 2.12 refuses::

    cell      = [kernel ": "] {item} [" if " condition] ["; " message {" | " message}]
    item      = word | parameter "?" value "=" word {"|" value "=" word}
    word      = name ["(" [name {"," name}] ")"]
    message   = [error ": "] text
    subject   = parameter {"," parameter} [relation parameter | "if" condition]
    relation  = "below" | "like" | "with" | "by"
    sizes     = {parameter | "_"} ["if" condition]
    refusals  = [clauses] ["then" clauses]
    clauses   = "refuses" "(" clause {";" clause} ")"
    clause    = word ["if" condition]
    condition = tests {"or" tests}
    tests     = test {"and" test}
    test      = term {("=" | "!=" | "<" | ">") term}
    term      = word | literal
    signature = ["[" forms "]"] [entry {"," entry}]
    entry     = ["*" | "**"] parameter [">" role] [":" kind {"|" kind}] ["=" literal] | "*" | "/"
    literal   = "None" | "True" | "False" | number | string | "(" [literal {"," literal} [","]] ")"

So ``return_complex?True=spectral|False=promotes(input,window)`` is an item in which an argument
chooses a word, and ``bitwise_and_cpu: floating complex`` are two words about a kernel. Each column
defines the meaning of its words; `namecheck.operators.signatures` has that of a signature,
`namecheck.effects.conditions` that of a condition.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Final, TypeAlias

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dtypes import cpp, spoken
from namecheck.core.parameters import REQUIRED


class WordError(ValueError):
    """An unreadable cell: what is wrong, and what is allowed in its place."""

    def __init__(self, problem: str, allowed: Iterable[str] = (), kind: str = "words") -> None:
        self.problem = problem
        self.allowed = tuple(allowed)
        self.kind = kind
        listed = f"; the {kind} are {', '.join(self.allowed)}" if self.allowed else ""
        super().__init__(problem + listed)


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its arguments: ``promotes(input,other)``."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of words by the value of an argument, as text."""

    parameter: str
    words: tuple[tuple[str, Word], ...]


Item: TypeAlias = Word | Choice
ParameterNames: TypeAlias = Collection[str]


@dataclass(frozen=True, slots=True)
class Message:
    """An error of torch: its type and message; the message may contain the dtypes of the call."""

    error: str
    text: str

    def about(self, *dtypes: str) -> tuple[str, str]:
        """The error for some dtypes, which replace ``{0}``, ``{spoken[0]}`` or ``{cpp[0]}``."""
        text = self.text.format(
            *dtypes,
            spoken=[spoken(dtype) for dtype in dtypes],
            cpp=[cpp(dtype) for dtype in dtypes],
        )
        return self.error, text


@dataclass(frozen=True, slots=True)
class Cell:
    """A parsed cell: words, the kernel that they are about, and torch's errors."""

    items: tuple[Item, ...]
    messages: tuple[Message, ...] = ()
    kernel: str = ""

    def message(self, place: int = 0) -> Message | None:
        """The error for one of several results; the last message holds for all further."""
        return self.messages[min(place, len(self.messages) - 1)] if self.messages else None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in a condition: None, a bool, a number or a string."""

    value: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test: each term compared with the next by a sign; a single term must be true."""

    terms: tuple[Word | Literal, ...]
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: all tests of one of the alternatives hold."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    @property
    def words(self) -> tuple[Word, ...]:
        """Its parameters, and its measures with theirs."""
        tests = [test for tests in self.alternatives for test in tests]
        return tuple(term for test in tests for term in test.terms if isinstance(term, Word))

    @property
    def parameters(self) -> frozenset[str]:
        """The parameters that it mentions."""
        return frozenset(name for word in self.words for name in word.arguments or (word.name,))


@dataclass(frozen=True, slots=True)
class Clause:
    """A kernel that torch 2.12 calls with some arguments, perhaps under a condition."""

    kernel: Word
    condition: Condition | None = None

    @property
    def parameters(self) -> frozenset[str]:
        """The arguments that it mentions."""
        condition = self.condition.parameters if self.condition else frozenset[str]()
        return condition.union(self.kernel.arguments)


@dataclass(frozen=True, slots=True)
class RefusalCell:
    """The clauses of a row, those that are checked before its rule and those after it."""

    before: tuple[Clause, ...] = ()
    after: tuple[Clause, ...] = ()

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """All clauses."""
        return self.before + self.after


@dataclass(frozen=True, slots=True)
class SizeCell:
    """The sizes of a tensor of a layer, by parameter, and when the layer has it."""

    sizes: tuple[str, ...]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """The parameters that an entry is about, and when: `other` is in a relation to the first."""

    parameters: tuple[str, ...]
    relation: str = ""
    other: str = ""
    condition: Condition | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """All parameters that it mentions."""
        others = (self.other,) if self.other else ()
        tested = sorted(self.condition.parameters) if self.condition else ()
        return (*self.parameters, *others, *tested)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name, the kinds it accepts (none: any), its default, how it is passed."""

    name: str
    kinds: frozenset[str] = frozenset()
    default: Any = REQUIRED
    keyword_only: bool = False
    variadic: bool = False
    mapping: bool = False
    positional_only: bool = False
    role: str = ""


Signature: TypeAlias = tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class SignatureCell:
    """A parsed signature, and the forms of call to which it is restricted (empty: all)."""

    forms: str
    signature: Signature


RELATIONS: Final = ("below", "like", "with", "by", "if")
COMPARISONS: Final = ("=", "!=", "<", ">")


@cache
def read_cell(text: str) -> Cell:
    """Parse a cell; raises `WordError`."""
    head, _, tail = text.partition("; ")
    kernel, colon, items = head.partition(": ")
    messages = tuple(map(read_message, tail.split(" | "))) if tail else ()
    return Cell(read_items(items if colon else head), messages, kernel if colon else "")


@cache
def read_conditional(text: str) -> tuple[Cell, Condition | None]:
    """Parse a cell that may hold on a condition alone; raises `WordError`."""
    head, semicolon, messages = text.partition("; ")
    items, _, condition = head.partition(" if ")
    return read_cell(items + semicolon + messages), read_condition(condition) if condition else None


@cache
def read_items(text: str) -> tuple[Item, ...]:
    """Parse a sequence of words; raises `WordError`."""
    return tuple(_Reader(text).items())


@cache
def read_message(text: str) -> Message:
    """Parse an error of torch, a RuntimeError unless another type is named: ``TypeError: …``."""
    error, colon, rest = text.partition(": ")
    named = colon and error.isidentifier() and error.endswith("Error") and error != "Error"
    return Message(error, rest) if named else Message("RuntimeError", text)


@cache
def read_subject(text: str) -> Subject:
    """Parse the parameters that an entry is about, and its condition; raises `WordError`."""
    return _Reader(text).subject()


@cache
def read_condition(text: str) -> Condition:
    """Parse a condition; raises `WordError`."""
    return _Reader(text).condition()


@cache
def read_sizes(text: str) -> SizeCell:
    """Parse the sizes of a tensor of a layer; raises `WordError`."""
    return _Reader(text).sizes()


@cache
def read_refusals(text: str) -> RefusalCell:
    """Parse the clauses of the column ``native``; raises `WordError`."""
    return _Reader(text).refusals()


@cache
def read_signature(text: str) -> SignatureCell:
    """Parse the parameters of one overload; raises `WordError`."""
    return _Reader(text).signature()


def read_word(text: str) -> Word:
    """Parse a cell of one word, without a name where it is empty; raises `WordError`."""
    match read_items(text):
        case ():
            return Word("")
        case (Word() as word,):
            return word
    raise WordError(f"'{text}' is not a single word")


def words_in(clauses: Iterable[Item]) -> list[Word]:
    """All words, including those that an argument chooses from."""
    choices = [item.words if isinstance(item, Choice) else (("", item),) for item in clauses]
    return [word for words in choices for _, word in words]


def check_parameters(mentioned: Iterable[str], parameters: ParameterNames | None) -> None:
    """Raise `WordError` for a name that is no parameter of the row; None: they are unknown."""
    for name in mentioned:
        if parameters is not None and name not in parameters:
            raise WordError(f"unknown parameter '{name}'", sorted(parameters), "parameters")


_TOKENS: Final = re.compile(
    r"""\s*(?: (?P<number> -?(?: \d++(?>(?:\.\d*+)?) | \.\d++ )(?>(?: e[-+]?\d++ )?)(?![\w.]) )
            | (?P<name> -?[\w.]+ )
            | (?P<string> '[^'\\]*' )
            | (?P<sign> \*\*|!=|[][(),;?=|<>:*/] )
            | (?P<rest> \S.* ))""",
    re.VERBOSE | re.DOTALL,
)


class _Reader:
    """Parses items and subjects from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._cut())
        self._next = 0

    def _cut(self) -> Iterable[str]:
        for token in _TOKENS.finditer(self._text.rstrip()):
            if token.lastgroup == "rest":
                raise WordError(f"'{token['rest'].strip()}' is not a word")
            yield token[0].strip()

    def items(self) -> Iterable[Item]:
        """All items."""
        while self._next < len(self._tokens):
            name = self._name()
            yield self._choice(name) if self._takes("?") else self._word(name)

    def subject(self) -> Subject:
        """The parameters, and their condition."""
        parameters = self._names()
        if self._next == len(self._tokens):
            return Subject(parameters)
        relation = self._name()
        if relation not in RELATIONS:
            raise WordError(f"unknown word '{relation}'", RELATIONS)
        if relation != "if":
            subject = Subject(parameters, relation, self._name())
        else:
            subject = Subject(parameters, relation, condition=self._condition())
        self._ends()
        return subject

    def sizes(self) -> SizeCell:
        """The sizes of a tensor, and the condition."""
        sizes = []
        while self._next < len(self._tokens) and self._tokens[self._next] != "if":
            sizes.append(self._name())
        condition = self._condition() if self._takes("if") else None
        self._ends()
        return SizeCell(tuple(sizes), condition)

    def condition(self) -> Condition:
        """A condition alone."""
        condition = self._condition()
        self._ends()
        return condition

    def refusals(self) -> RefusalCell:
        """The clauses before the rule and after it."""
        before = () if self._sees("then") else self._clauses()
        after = self._clauses() if self._takes("then") else ()
        self._ends()
        return RefusalCell(before, after)

    def _clauses(self) -> tuple[Clause, ...]:
        if not self._takes("refuses"):
            raise self._misplaced()
        self._needs("(")
        clauses = [self._clause()]
        while self._takes(";"):
            clauses.append(self._clause())
        self._needs(")")
        return tuple(clauses)

    def _clause(self) -> Clause:
        name = self._name()
        if not self._sees("("):
            raise WordError(f"'{name}' is not kernel(argument, …)")
        return Clause(self._word(name), self._condition() if self._takes("if") else None)

    def _condition(self) -> Condition:
        alternatives = [self._tests()]
        while self._takes("or"):
            alternatives.append(self._tests())
        return Condition(tuple(alternatives))

    def _tests(self) -> tuple[Comparison, ...]:
        tests = [self._test()]
        while self._takes("and"):
            tests.append(self._test())
        return tuple(tests)

    def _test(self) -> Comparison:
        terms, signs = [self._term()], list[str]()
        while self._next < len(self._tokens) and self._tokens[self._next] in COMPARISONS:
            signs.append(self._tokens[self._next])
            self._next += 1
            terms.append(self._term())
        return Comparison(tuple(terms), tuple(signs))

    def _term(self) -> Word | Literal:
        token = self._tokens[self._next] if self._next < len(self._tokens) else ""
        if token.isidentifier() and token not in _CONSTANTS:
            return self._word(self._name())
        return Literal(self._literal())

    def signature(self) -> SignatureCell:
        """The parameters of a call, and its forms."""
        forms = ""
        if self._takes("["):
            forms = self._name()
            self._needs("]")
        parameters: list[Parameter] = []
        keyword_only = False
        while self._next < len(self._tokens):
            if self._takes("/"):
                parameters = [replace(earlier, positional_only=True) for earlier in parameters]
            elif self._takes("*"):
                keyword_only = True
                if not self._ends_entry():
                    parameters.append(self._parameter(variadic=True))
            elif self._takes("**"):
                parameters.append(self._parameter(keyword_only=keyword_only, mapping=True))
            else:
                parameters.append(self._parameter(keyword_only=keyword_only))
            if self._next < len(self._tokens):
                self._needs(",")
        return SignatureCell(forms, tuple(parameters))

    def _ends_entry(self) -> bool:
        return self._next == len(self._tokens) or self._tokens[self._next] == ","

    def _parameter(
        self, *, keyword_only: bool = False, variadic: bool = False, mapping: bool = False
    ) -> Parameter:
        name = self._name()
        if not name.isidentifier():
            raise WordError(f"'{name}' is not a parameter")
        role = self._name() if self._takes(">") else ""
        kinds = []
        if self._takes(":"):
            kinds.append(self._name())
            while self._takes("|"):
                kinds.append(self._name())
        default = self._literal() if self._takes("=") else REQUIRED
        return Parameter(
            name, frozenset(kinds), default, keyword_only, variadic, mapping, role=role
        )

    def _literal(self) -> Any:
        if self._takes("("):
            parts = []
            while not self._takes(")"):
                parts.append(self._literal())
                if self._tokens[self._next : self._next + 1] != [")"]:
                    self._needs(",")
            return tuple(parts)
        if self._next < len(self._tokens) and self._tokens[self._next] not in _SIGNS:
            try:
                value = ast.literal_eval(self._tokens[self._next])
            except (ValueError, SyntaxError):
                raise WordError(f"'{self._tokens[self._next]}' is not a literal") from None
            self._next += 1
            return value
        raise self._misplaced()

    def _choice(self, parameter: str) -> Choice:
        words = [self._case()]
        while self._takes("|"):
            words.append(self._case())
        return Choice(parameter, tuple(words))

    def _case(self) -> tuple[str, Word]:
        value = self._name()
        self._needs("=")
        return value, self._word(self._name())

    def _word(self, name: str) -> Word:
        if not self._takes("("):
            return Word(name)
        arguments = () if self._sees(")") else self._names()
        self._needs(")")
        return Word(name, arguments)

    def _names(self) -> tuple[str, ...]:
        names = [self._name()]
        while self._takes(","):
            names.append(self._name())
        return tuple(names)

    def _name(self) -> str:
        if self._next == len(self._tokens) or self._tokens[self._next][0] in _NO_NAMES:
            raise self._misplaced()
        self._next += 1
        return self._tokens[self._next - 1]

    def _sees(self, token: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next] == token

    def _takes(self, token: str) -> bool:
        is_next = self._sees(token)
        self._next += is_next
        return is_next

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._misplaced()

    def _ends(self) -> None:
        if self._next < len(self._tokens):
            raise self._misplaced()

    def _misplaced(self) -> WordError:
        if self._next == len(self._tokens):
            return WordError(f"'{self._text}' breaks off")
        return WordError(f"'{self._tokens[self._next]}' is misplaced in '{self._text}'")


_SIGNS: Final = frozenset({*"[](),;?=|<>:*/", "**", "!="})
_NO_NAMES: Final = frozenset({*"[](),;?=|<>:*/!", "'"})
_CONSTANTS: Final = frozenset({"None", "True", "False"})
