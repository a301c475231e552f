"""What may be missing on a machine: its tests are skipped, and the end of the run says how many and why."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    """A line for each reason; with xdist, this runs where the reports of all workers come together."""
    reasons = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[told.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count} {'test' if count == 1 else 'tests'}: {reason}")
