import browser
import pytest
from reports import HOSTILE

from chromatic.lab.datasets.npm import load_npm_names

N_TRAIN, N_TEST = 6000, 2000


@pytest.fixture(scope="session")
def names():
    """Training and test rows of the names of packages, with a feature that would like to be a script."""
    train, test = load_npm_names()
    for part, n in ((train, N_TRAIN), (test, N_TEST)):
        del part.rows[n:], part.labels[n:]
        for row, popular in zip(part.rows, part.labels, strict=True):
            if popular and len(row) % 2:
                row.append(HOSTILE)  # it tells of the label, so that it makes a column
    return train, test


@pytest.fixture(scope="session")
def chromium():
    if browser.program() is None:
        pytest.skip("there is no chromium on this machine")
    opened = browser.Browser()
    yield opened
    opened.close()
