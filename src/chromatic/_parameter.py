"""A row of the table of parameters: how it is declared, and which values it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin

from chromatic.errors import InputError


def said(
    sentence: str,
    default: Any,
    *,
    group: str,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    python: str | None = None,
    spark: str | None = None,
    in_file: bool = True,
    only_python: bool = False,
) -> Any:
    """Declare a field of `Settings`; `python` and `spark` are its names there, where these are others."""
    told = {"sentence": sentence, "group": group, "choices": choices, "least": least}
    told |= {"python": python, "spark": spark, "in_file": in_file, "only_python": only_python}
    return field(default=default, metadata=told)


def plain(value: Any) -> Any:
    """Return an array, a tuple or a list as a list of plain values, and anything else as it is."""
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [one.item() if hasattr(one, "item") else one for one in value]
    return value


@dataclass(frozen=True)
class Parameter:
    """A row of the table."""

    name: str
    python: str  # the name in Python
    spark: str  # the Param of Spark
    kinds: tuple[type, ...]  # of int, float, str, bool, list and NoneType
    choices: tuple[str, ...]  # the words that are allowed; empty where any text is
    default: Any
    sentence: str
    group: str
    least: float | None  # of numbers
    in_file: bool  # whether a model file keeps it
    only_python: bool  # whether it is about what Python gets: neither a flag nor a Param of Spark

    @property
    def switch(self) -> str | None:
        """The one word that the parameter is, unless it is None."""
        return self.choices[0] if self.kinds == (str, NoneType) and len(self.choices) == 1 else None

    @property
    def flag(self) -> str:
        """The flag on the command line."""
        words = [self.name.replace("_", "-"), *([] if self.switch is None else [self.switch])]
        return "--" + "-".join(words)

    @classmethod
    def of(cls, name: str, default: Any, hint: Any, told: Mapping[str, Any]) -> Self:
        """Return the parameter that a field of a table declares, from its type and what is `said` of it."""
        options = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
        words = tuple(
            word for option in options if get_origin(option) is Literal for word in get_args(option)
        )
        first, *others = name.split("_")
        python = told["python"] or name
        return cls(
            name=name,
            python=python,
            spark=told["spark"] or first + "".join(word.capitalize() for word in others),
            kinds=tuple({Literal: str, list: list}.get(get_origin(option), option) for option in options),
            choices=told["choices"] or words,
            default=default,
            sentence=told["sentence"],
            group=told["group"],
            least=told["least"],
            in_file=told["in_file"],
            only_python=told["only_python"],
        )

    def check(self, value: Any) -> None:
        """Refuse a value that the parameter cannot have."""
        if not self._allows(value):
            raise InputError(f"{self.name} is {value!r}; expected {self.allowed}")

    def _allows(self, value: Any) -> bool:
        value = plain(value)
        if value is None:
            return NoneType in self.kinds
        if isinstance(value, list):
            return list in self.kinds and all(isinstance(one, (str, int)) for one in value)
        if isinstance(value, str):
            return str in self.kinds and (not self.choices or value in self.choices)
        if isinstance(value, bool) or bool in self.kinds:
            return bool in self.kinds and value in (True, False)
        whole = int in self.kinds and isinstance(value, Integral)
        real = float in self.kinds and isinstance(value, Real)
        return (whole or real) and (value >= self.least if self.least is not None else value == value)

    @property
    def allowed(self) -> str:
        """What a value may be, in words.

        >>> told = {"choices": (), "least": 1, "sentence": "", "group": "", "python": None, "spark": None}
        >>> told |= {"in_file": True, "only_python": False}
        >>> Parameter.of("folds", 5, int | Literal["consecutive"], told).allowed
        'a whole number from 1 or consecutive'
        """
        words = [*self.choices, *(["a list of columns", "a mask"] if list in self.kinds else [])]
        if bool in self.kinds:
            words = ["True", "False"]
        elif str in self.kinds and not words:
            words = ["a text"]
        elif int in self.kinds or float in self.kinds:
            number = "a whole number" if int in self.kinds else "a number"
            words.insert(0, number if self.least is None else f"{number} from {self.least:g}")
        if NoneType in self.kinds:
            words.append("None")
        return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
