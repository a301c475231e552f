"""The rules of the house, held by walking the source: CONTRIBUTING.md says why."""

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.house

ROOT = Path(__file__).parents[1]
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_POSITIONAL = 5  # arguments of a call; the rest go by keyword, or together as a tuple
FOLDERS = ("src", "benchmarks", "fuzz", "tools", "tests")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def problems(text):
    """What breaks the rules in a file, each as (line, sentence)."""
    lines = text.count("\n")
    broken = [(1, f"the file has {lines} lines")] if lines > MOST_LINES else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            if length > MOST_LINES_OF_A_FUNCTION:
                broken.append((node.lineno, f"{node.name} has {length} lines"))
        elif isinstance(node, ast.Call):
            positional = sum(not isinstance(argument, ast.Starred) for argument in node.args)
            if positional > MOST_POSITIONAL:
                called = ast.unparse(node.func)
                broken.append((node.lineno, f"{called} is called with {positional} positional arguments"))
    return sorted(broken)


def test_the_folders_are_walked():
    assert len(FILES) > 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_keeps_the_rules(path):
    assert problems(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    ["\n" * 401, "def f():\n" + "    x = 1\n" * 60, "f(1, 2, 3, 4, 5, 6)", "x.f(1, *a, 2, 3, 4, 5, 6)"],
)
def test_what_breaks_a_rule_is_seen(text):
    assert len(problems(text)) == 1


@pytest.mark.parametrize(
    "text", ["\n" * 400, "def f():\n" + "    x = 1\n" * 59, "f(1, 2, 3, 4, 5, g=6)", "f(1, 2, *a)"]
)
def test_what_keeps_the_rules_passes(text):
    assert problems(text) == []
