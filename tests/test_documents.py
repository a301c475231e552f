"""What README and docs show is run."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_COMMANDS = ("cli/main", "cli/options", "cli/terminal")
TASKS = sorted((ROOT / "docs").glob("task-*.md"))
RUN_ELSEWHERE = ("adding-an-encoding.md", *(page.name for page in TASKS))  # by tests of their own
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page):
    if page.name in RUN_ELSEWHERE:
        return
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    if blocks:  # in one process, each with nothing but its own names
        program = f"for block in {blocks!r}: exec(block, {{'__name__': '__main__'}})"
        subprocess.run([sys.executable, "-c", program], check=True, timeout=900)


def shell(lines, folder):
    """Run lines of a page as its reader would, with this environment's `chromatic`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", lines],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_the_commands_of_the_readme_run(tmp_path):
    text = (ROOT / "README.md").read_text()
    commands = [line.strip() for line in re.findall(r"^    (?:zcat|chromatic) .*$", text, re.M)]
    assert len(commands) >= 5
    (tmp_path / "clicks.svm.gz").write_bytes(
        gzip.compress(b"".join(b"%d %d:1 %d:1\n" % (i % 20 < 6, i % 20, i + 90) for i in range(400)))
    )
    (tmp_path / "more.svm.gz").write_bytes(gzip.compress(b"1 8:1\n" * 30))
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"1 red round\n"))
    (tmp_path / "day_0.tsv").write_text("\t".join(["1", *["2"] * 13, *["cafe"] * 26]) + "\n")
    for command in commands:
        done = shell(command, tmp_path)
        said = "chromatic: categories: C1, " if "criteo" in command else ""
        assert done.returncode == 0 and done.stderr.startswith(said), command
        assert done.stderr.count("\n") == bool(said), command


@pytest.mark.parametrize("page", TASKS, ids=lambda page: page.name)
def test_the_cells_of_a_task_print_what_stands_below_them_and_its_commands_run(page, tmp_path):
    cells = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text(), re.S)
    commands = re.findall(r"```sh\n(.*?)```", page.read_text(), re.S)
    assert len(cells) >= 5 and commands
    program = "\n".join(f"{code}\nprint('\\x1e', end='')" for code, _ in cells)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\x1e") == [*(printed for _, printed in cells), ""]
    for lines in commands:
        done = shell(lines, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_module_is_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for path in (ROOT / "src" / "chromatic").rglob("*.py"):
        name = str(path.relative_to(ROOT / "src" / "chromatic").with_suffix(""))
        is_command = name.startswith("cli/") and name not in NOT_COMMANDS
        if not name.endswith("__init__") and not is_command:
            assert f"`{name}`" in text, f"docs/architecture.md does not tell of {name}"


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(script, tmp_path):
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout


def test_the_pages_become_a_site_without_a_warning(tmp_path):
    site = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", tmp_path / "site"]
    done = subprocess.run(site, cwd=ROOT, capture_output=True, timeout=900)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    named = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name in named, f"{page.name} is not in the navigation"
