"""A table of nine fields of integers with known effects: those of each value, and of some pairs."""

import numpy as np
import pandas as pd

FIELDS = {  # like the resources, managers and roles of an access log: how many values, how unevenly used
    "RESOURCE": (6000, 0.8),
    "MGR_ID": (3500, 0.7),
    "ROLE_ROLLUP_1": (120, 1.1),
    "ROLE_ROLLUP_2": (170, 1.1),
    "ROLE_DEPTNAME": (440, 0.9),
    "ROLE_TITLE": (340, 1.0),
    "ROLE_FAMILY_DESC": (2300, 1.0),
    "ROLE_FAMILY": (67, 1.1),
    "ROLE_CODE": (340, 1.0),
}
SPREAD = (1.0, 1.2, 0.4, 0.5, 0.7, 0.4, 0.5, 0.3, 0.3)  # of the effects of a field's values
PAIRS = (("RESOURCE", "ROLE_DEPTNAME"), ("MGR_ID", "ROLE_FAMILY"))


def nine_fields(n_rows, seed=0, rate=0.94):
    """Return the table, its labels, and the log-odds that they were drawn by."""
    random = np.random.default_rng(seed)
    table, odds = {}, np.zeros(n_rows)
    for (name, (size, skew)), spread in zip(FIELDS.items(), SPREAD, strict=True):
        ids = random.choice(320_000, size, replace=False)  # ids are not in the order of anything
        shares = np.arange(1, size + 1) ** -skew
        values = random.choice(size, n_rows, p=shares / shares.sum())
        odds += spread * random.normal(size=size)[values]
        table[name] = ids[values]
    for one, other in PAIRS:
        _, pair = np.unique(np.stack((table[one], table[other])), axis=1, return_inverse=True)
        odds += 0.5 * random.normal(size=pair.max() + 1)[pair.ravel()]
    low, high = -20.0, 20.0  # the constant that gives the rate
    for _ in range(60):
        middle = (low + high) / 2
        too_many = np.mean(1 / (1 + np.exp(-odds - middle))) > rate
        low, high = (low, middle) if too_many else (middle, high)
    odds += low
    return pd.DataFrame(table), (random.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int), odds
