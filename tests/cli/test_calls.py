"""Flags, help, and wrong calls."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from chromatic.cli import evaluate, options, tune
from chromatic.cli.main import app
from chromatic.data.reader import FORMATS
from chromatic.data.writers import WRITE_FORMATS
from chromatic.learn.encoders import ENCODERS, VALIDATIONS
from chromatic.learn.evaluate import LEARNERS
from chromatic.parameters import SHARED

RUN = CliRunner()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["describe", "--nonsense"],
            "no such option '--nonsense'; expected a call as in chromatic describe --help",
        ),
        (["--nonsense"], "no such option '--nonsense'; expected a call as in chromatic --help"),
        (["paint"], "no such command 'paint'; expected a call as in chromatic --help"),
        (["datasets", "paint"], "no such command 'paint'; expected a call as in chromatic datasets --help"),
        (
            ["fit", "-o", "x.chroma"],
            "missing argument 'TRAIN...'; expected a call as in chromatic fit --help",
        ),
        (["fit", "x.svm"], "missing option '-o' / '--output'; expected a call as in chromatic fit --help"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(args, message):
    done = RUN.invoke(app, args)
    assert (done.exit_code, done.output) == (2, f"chromatic: {message}\n")


def test_without_a_command_the_help_is_told():
    for args in ([], ["datasets"]):
        done = RUN.invoke(app, args)
        assert done.exit_code == 2 and "Commands:" in done.stderr


def test_importing_the_package_imports_nothing_heavy():
    script = (
        "import sys, chromatic\n"
        "heavy = {'numpy', 'numba', 'scipy', 'sklearn', 'pyarrow', 'click'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_help_has_an_example_for_every_command():
    for name, command in app.commands.items():
        of_group = getattr(command, "commands", None)
        for words in [[name]] if of_group is None else [[name, one] for one in of_group]:
            assert f"Example: chromatic {' '.join(words)}" in RUN.invoke(app, [*words, "--help"]).output


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from chromatic.cli.main import main\n"
        "sys.argv = ['chromatic', 'fit', '--help']\n"
        "try: main()\nexcept SystemExit as done: assert not done.code\n"
        "heavy = {'numpy', 'numba', 'scipy', 'sklearn', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL).returncode == 0


def test_fit_has_a_flag_for_every_parameter_in_the_section_of_its_group():
    fit = app.commands["fit"]
    flags = {flag: one for one in fit.params for flag in one.opts}
    given = fit.make_context("fit", ["train.svm", "-o", "model.chroma"]).params
    help = RUN.invoke(app, ["fit", "--help"]).output
    for parameter in SHARED:
        if parameter.name != "verbose":
            assert given[parameter.name] == parameter.default
            assert flags[parameter.flag].section == parameter.group
            assert f"\n{parameter.group}:\n" in help
    assert "--verbose" not in flags


def test_words_that_commands_allow_are_those_of_the_library():
    assert next(one for one in SHARED if one.name == "format").choices == FORMATS
    assert options.WRITE_FORMATS == WRITE_FORMATS
    assert (evaluate.ENCODERS, evaluate.LEARNERS) == (ENCODERS, LEARNERS)
    assert tune.HELD_OUT == VALIDATIONS


def test_out_is_another_name_of_output():
    for name in ("demo", "evaluate", "reproduce"):
        [output] = [one for one in app.commands[name].params if one.name == "output"]
        assert {"-o", "--output", "--out"} == set(output.opts)
