"""A table with a text column, a column of lists and a numeric column."""

import polars as pl

from chromatic import ChromaticEncoder

n = 3000
table = pl.DataFrame(
    {
        "shop": [f"shop{i % 60}" for i in range(n)],
        "tags": [[f"tag{i % 25}", f"tag{i * 7 % 40}"] for i in range(n)],
        "price": [1.5 * (i % 11) for i in range(n)],
    }
)
labels = ["returned" if i % 60 < 12 else "kept" for i in range(n)]
encoder = ChromaticEncoder(budget=24).set_output(transform="pandas")
columns = encoder.fit_transform(table, labels)
print(columns.iloc[:3])
print(encoder.locate("shop=shop3"))
