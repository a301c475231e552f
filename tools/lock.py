"""`python tools/lock.py`: requirements.lock, each package of the tests with the SHA-256 of its file.

Run with the Python that the lock is for; what pip would install under constraints.txt is what is locked.
"""

import json
import platform
import subprocess
import sys

HEAD = "# What the tests run on, for {}: made by tools/lock.py. Elsewhere constraints.txt holds.\n"


def main() -> None:
    """Ask pip what it would install, and write it down."""
    report = ["--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    command = [sys.executable, "-m", "pip", "install", *report, "-c", "constraints.txt", "-e", ".[all,dev]"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    lines = []
    for package in found["install"]:
        if package["metadata"]["name"] == "chromatic-learning":
            continue
        name, version = package["metadata"]["name"].lower(), package["metadata"]["version"].split("+")[0]
        digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    machine = (
        f"{platform.system()} {platform.machine()} and Python {sys.version_info[0]}.{sys.version_info[1]}"
    )
    with open("requirements.lock", "w") as file:
        file.writelines([HEAD.format(machine), *sorted(lines)])


if __name__ == "__main__":
    main()
