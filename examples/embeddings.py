"""PyTorch with an embedding for each level of each color: levels from `encoding="frequency"`."""

import numpy as np
import torch

from chromatic import ChromaticEncoder
from chromatic.lab.datasets.npm import load_npm_names

torch.manual_seed(0)
train, test = load_npm_names()
rows, labels = train.rows[::5], np.array(train.labels[::5], np.float32)
encoder = ChromaticEncoder(4096, encoding="frequency").fit(rows)
starts = torch.tensor(np.concatenate(([0], np.cumsum(encoder.field_dims_[:-1]))))
table = torch.nn.Embedding(int(encoder.field_dims_.sum()), 8)
head = torch.nn.Sequential(
    torch.nn.Linear(8 * encoder.n_colors_, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
)


def score(levels):
    """Return the log-odds of rows; levels are rows × colors, 0 where a color is absent."""
    return head(table(levels + starts).flatten(1))[:, 0]


levels = torch.tensor(encoder.transform(rows).toarray(), dtype=torch.int64)
step = torch.optim.Adam([*table.parameters(), *head.parameters()], 1e-2)
for batch in torch.randperm(len(rows)).split(256):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(
        score(levels[batch]), torch.tensor(labels)[batch]
    )
    step.zero_grad()
    loss.backward()
    step.step()
print(f"{encoder.n_colors_} colors, {table.num_embeddings:,} embeddings, last loss {loss.item():.3f}")
