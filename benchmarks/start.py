"""What it costs to start: importing the package, and `chromatic --help`."""

import os
import subprocess
import sys

from measure import best_of, table


def main():
    def run(*command):
        return lambda: subprocess.run(command, check=True, capture_output=True)

    program = os.path.join(os.path.dirname(sys.executable), "chromatic")
    python, package, help_ = best_of(
        5,
        run(sys.executable, "-c", ""),
        run(sys.executable, "-c", "import chromatic"),
        run(program, "--help"),
    )
    print(f"python alone: {python:.2f} s")
    table(
        [
            ("import chromatic", f"{package:.2f} s", "<= 0.5 s"),
            ("chromatic --help", f"{help_:.2f} s", "<= 0.5 s"),
        ]
    )


if __name__ == "__main__":
    main()
