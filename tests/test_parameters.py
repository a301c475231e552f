"""A parameter is said once: estimator, commands and Spark are held against the table."""

import inspect
import re
import subprocess
import sys

import pytest

from chromatic import ChromaticEncoder
from chromatic.errors import InputError
from chromatic.parameters import DEFAULTS, ON_SPARK, PARAMETERS, READING, SHARED, Settings
from chromatic.registry import ENCODINGS, encoding_class

BY_PYTHON = {one.python: one for one in PARAMETERS}


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def documented():
    """Return the type and the sentence of each parameter in the estimator's docstring."""
    text = inspect.getdoc(ChromaticEncoder)
    section = text[text.index("Parameters\n") : text.index("Attributes\n")]
    found = re.findall(r"^(\w+) : (.*?)\n((?:    .*\n|\n)+)", section, re.M)
    return {name: (kind, words(sentence)) for name, kind, sentence in found}


def test_the_estimator_has_every_parameter_with_its_default():
    signature = inspect.signature(ChromaticEncoder.__init__).parameters
    given = {name: one.default for name, one in signature.items() if name != "self"}
    assert given == {one.python: one.default for one in PARAMETERS}


@pytest.mark.parametrize("name", BY_PYTHON)
def test_the_docstring_says_the_table_s_sentence_type_and_default(name):
    kind, sentence = documented()[name]
    one = BY_PYTHON[name]
    assert sentence == one.sentence
    assert kind.endswith(f"default={one.default!r}".replace("'", '"'))
    assert all(f'"{choice}"' in kind for choice in one.choices)


def test_only_what_python_gets_is_a_parameter_of_python_alone():
    assert [one.name for one in PARAMETERS if one not in SHARED] == ["sparse_output"]


def test_commands_have_every_parameter():
    command = [sys.executable, "-m", "chromatic.cli.main", "fit", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text = words(done.stdout)
    for one in SHARED:
        if one.name != "verbose":  # a flag of `chromatic` itself
            assert one.flag in text, one.flag
            assert one.sentence.split(";")[0].split(":")[0][:30] in text, one.sentence


def test_spark_has_every_parameter():
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from chromatic.spark.estimator import _ChromaticParams

    assert {one.group for one in SHARED if one not in ON_SPARK} == {READING}, "frames are read already"
    for one in ON_SPARK:
        param = getattr(_ChromaticParams, one.spark)
        assert param.doc == one.sentence


@pytest.mark.parametrize("one", PARAMETERS, ids=lambda one: one.name)
def test_a_value_that_is_not_allowed_is_refused_with_what_is(one):
    Settings(**{one.name: one.default})
    for bad in (object(), "no such word" if one.choices else 1.5j, [1.5]):
        with pytest.raises(InputError, match=re.escape(f"{one.name} is ") + ".*; expected "):
            Settings(**{one.name: bad})


def test_numbers_have_bounds_and_true_is_no_number():
    for bad in ({"budget": 0}, {"folds": True}, {"dense_threshold": float("nan")}, {"min_gain": -1}):
        with pytest.raises(InputError, match=r"expected a (whole )?number from"):
            Settings(**bad)
    assert Settings(max_colors=7).max_colors == 7 and Settings(max_colors="proper").max_colors == "proper"


def test_what_a_file_keeps_goes_by_its_name_in_python():
    kept = DEFAULTS.kept
    assert kept["random_state"] == 0 and "seed" not in kept
    assert not {"n_jobs", "verbose", "memory", "cache"} & set(kept)
    assert ChromaticEncoder(**kept).get_params() == ChromaticEncoder().get_params()


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_registry_names_classes_that_know_their_names(name):
    kind = encoding_class(name)
    assert kind.name in ENCODINGS and kind.words.columns


def test_an_unknown_encoding_is_refused():
    with pytest.raises(InputError, match="encoding is 'magic'; expected one of submodular"):
        encoding_class("magic")


@pytest.mark.parametrize("coloring", ["random", "uniform", "fields"])
def test_a_coloring_without_an_order_is_given_none(coloring):
    with pytest.raises(InputError, match=f"order is 'degree' and the coloring '{coloring}' has none; expe"):
        Settings(coloring=coloring, order="degree")
    assert Settings.paper(coloring=coloring).order == "count"
    assert ChromaticEncoder.paper(coloring=coloring).order == "count"
    with pytest.raises(InputError, match="has none"):
        Settings.paper(coloring=coloring, order="degree")


def test_the_paper_takes_features_by_degree():
    assert Settings.paper().order == ChromaticEncoder.paper().order == "degree"
    assert Settings.paper(coloring="balanced").order == "degree"
