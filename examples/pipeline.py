"""A scikit-learn pipeline of encoder and logistic regression, and a search for the best budget."""

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from chromatic import ChromaticEncoder
from chromatic.lab.datasets.npm import load_npm_names

train, test = load_npm_names()
rows, labels = train.rows[::10], train.labels[::10]  # a tenth is enough to see it work
model = make_pipeline(ChromaticEncoder(), LogisticRegression(max_iter=300))
search = GridSearchCV(model, {"chromaticencoder__budget": [64, 256]}, scoring="roc_auc", cv=3)
search.fit(rows, labels)
auc = roc_auc_score(test.labels, search.predict_proba(test.rows)[:, 1])
print(f"best: {search.best_params_}, AUC on other names {auc:.3f}")
