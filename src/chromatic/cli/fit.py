"""`chromatic fit`: learn columns from training data."""

from __future__ import annotations

from typing import Annotated

import typer

from chromatic.cli import options


def fit(
    train: options.Inputs,
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    encoded: Annotated[
        str | None, typer.Option(help="Also write the training rows, encoded without leaking labels.")
    ] = None,
    to: options.To = None,
    budget: Annotated[int, typer.Option(help="The most columns, the dense ones included.")] = 1024,
    encoding: Annotated[str, typer.Option(help="submodular, target, frequency, identity.")] = "submodular",
    coloring: Annotated[
        str, typer.Option(help="balanced, first-fit, random, uniform or fields.")
    ] = "balanced",
    max_colors: Annotated[
        str | None, typer.Option(help="A number, or proper; by default what suits the budget.")
    ] = None,
    min_edge_count: Annotated[
        int, typer.Option(help="Pairs of features seen in fewer rows may share a color.")
    ] = 1,
    leakage: Annotated[str, typer.Option(help="crossfit, split or none.")] = "crossfit",
    folds: Annotated[int, typer.Option(help="Of crossfit.")] = 5,
    split_rate: Annotated[int, typer.Option(help="Of split: 2^-rate of the rows estimate.")] = 1,
    smoothing: Annotated[str, typer.Option(help="auto, or a pseudo-count of the overall rate.")] = "auto",
    quantizer: Annotated[str, typer.Option(help="optimal, greedy or sort.")] = "optimal",
    null: Annotated[str, typer.Option(help="drop, or emit a column for an absent color.")] = "drop",
    names: Annotated[bool, typer.Option(help="Keep the names of string features in the model.")] = True,
    seed: Annotated[int, typer.Option(help="Of folds, halves and random colors.")] = 0,
    format: options.Format = None,
    features: options.Features = "auto",
    label: options.Label = None,
    on_bad_line: options.OnBadLine = "raise",
    threads: options.Threads = None,
    dense_threshold: options.DenseThreshold = 0.1,
    min_count: options.MinCount = 1,
    values: options.Values = "elide",
) -> None:
    """Learn columns from TRAIN and write them to a model file.

    Example: chromatic fit train.svm.gz -o model.chroma --budget 1024 --encoded train-columns.svm
    """
    from chromatic._files import check_target
    from chromatic.data.writers import format_to_write
    from chromatic.encoding.fitting import Settings, as_zero_and_one
    from chromatic.encoding.fitting import fit as fit_encoding
    from chromatic.modelfile import save

    settings = Settings(
        budget=budget,
        encoding=encoding,
        coloring=coloring,
        max_colors=options.number_or_word(max_colors),
        min_edge_count=min_edge_count,
        leakage=leakage,
        folds=folds,
        split_rate=split_rate,
        smoothing=options.number_or_word(smoothing, float),
        quantizer=quantizer,
        null=null,
        seed=seed,
    )
    check_target(output)
    if encoded is not None:
        to = format_to_write(encoded, to)
        check_target(encoded)
    with options.reader(
        train, format=format, features=features, label=label, on_bad_line=on_bad_line, n_jobs=threads
    ) as reader:
        data = reader.read(
            train,
            dense_threshold=dense_threshold,
            min_count=min_count,
            values=values,
            keep_names=names,
            keep_fields=coloring == "fields",
        )
    options.say_what_was_left_out(data.skipped_lines, data.ignored_numbers, data.missing_numbers)
    labels = data.rows.labels
    y = None if labels is None else as_zero_and_one(labels)
    fitted = fit_encoding(data, y, settings, reader.threads)
    if encoded is not None and to is not None:
        if len(fitted.training_rows) < data.rows.n_rows:
            options.log.warning(
                "wrote the %s of %s rows that are left to train on",
                f"{len(fitted.training_rows):,}",
                f"{data.rows.n_rows:,}",
            )
        training = fitted.training.take(fitted.training_rows)
        options.write_columns(
            training, None if labels is None else labels[fitted.training_rows], encoded, to, reader.threads
        )
    save(fitted.encoding, output, names=names)
