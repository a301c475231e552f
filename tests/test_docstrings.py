"""What is public is documented as numpydoc has it: every parameter, result and error."""

import importlib

import pytest
from numpydoc.validate import validate

PUBLIC = [
    "chromatic.ChromaticEncoder",
    "chromatic.FrequencyEncoder",
    "chromatic.HashingEncoder",
    "chromatic.learn.tuning.tune",
    "chromatic.serve.load_learner",
    "chromatic.serve.save_learner",
    "chromatic.spark.ChromaticEstimator",
    "chromatic.spark.ChromaticModel",
]
CHECKED = {
    "GL06",  # a section that numpydoc does not know
    "GL07",  # sections in another order
    "GL08",  # no docstring
    "SS01",  # no summary
    "SS06",  # a summary of several lines
    "PR01",  # a parameter without a word
    "PR02",  # a word on what is no parameter
    "PR03",  # parameters in another order
    "PR04",  # a parameter without a type
    "PR07",  # a parameter without a description
    "PR10",  # no space before the colon of a type
    "RT01",  # no section of what is returned
    "RT03",  # what is returned has no description
    "YD01",  # no section of what is yielded
}


def public(path):
    """A function, or a class and the public methods and properties that it defines itself."""
    module, name = path.rsplit(".", 1)
    members = vars(getattr(importlib.import_module(module), name))
    return [path] + [f"{path}.{member}" for member in members if not member.startswith("_")]


@pytest.mark.parametrize("path", PUBLIC)
def test_what_is_public_is_documented_in_full(path):
    if ".spark." in path:
        pytest.importorskip("pyspark")
    problems = [
        f"{name}: {code} {sentence}"
        for name in public(path)
        for code, sentence in validate(name)["errors"]
        if code in CHECKED
    ]
    assert problems == []
