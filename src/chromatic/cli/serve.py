"""`chromatic serve`: a model behind HTTP."""

from __future__ import annotations

from chromatic.cli import options, terminal
from chromatic.errors import InputError


@options.model
@options.option(
    "--learner",
    help="A linear model of the columns, as save_learner of chromatic.serve writes it; /score needs it.",
)
@options.option("--host", default="127.0.0.1", help="The address to listen on.")
@options.option("--port", number=int, default=8000, help="The port to listen on; 0 is any free one.")
@options.option(
    "--max-body", default="1M", section="Bounds", help="The largest body of a request, such as 500K or 8M."
)
@options.option(
    "--max-rows", number=int, default=1000, section="Bounds", help="The most rows of a request."
)
def serve(model: str, learner: str | None, *, host: str, port: int, max_body: str, max_rows: int) -> None:
    """Encode, and score, rows that come as JSON over HTTP.

    POST /encode and /score take {"rows": [...]}; GET /health and /metrics tell how the server does. A model
    or learner file that is replaced is loaded anew.

    Example: chromatic serve model.chroma --learner learner.json --port 8000
    """
    from chromatic.data.limit import parse_size
    from chromatic.serve.run import serve as run

    if max_rows < 1:
        raise InputError(f"--max-rows is {max_rows}; expected 1 or more")
    most = parse_size(max_body, "--max-body")
    run(model, learner, (host, port), (most, max_rows), terminal.say)
