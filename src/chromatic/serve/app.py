"""The server's paths: /encode, /score, /health and /metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chromatic import __version__
from chromatic._log import log
from chromatic._view import SparseRow
from chromatic.serve.learner import no_number
from chromatic.serve.metrics import CONTENT_TYPE, Metrics
from chromatic.serve.models import Loaded, Models

PATHS = ("/encode", "/score", "/health", "/metrics")
A_ROW = "a list of features or an object"
EXPECTED = f'expected {{"rows": [...]}}, each row {A_ROW}'
LOOK_EVERY = 1.0  # seconds, at replaced files
SMALL = 1 << 10  # bytes of a body that is answered at once: a thread takes longer than a row or two
BODY_SECONDS = 30.0  # for a body to arrive
READ_ON = 16  # times the largest body: a client that is sending does not hear an answer before its end


@dataclass(frozen=True)
class Bounds:
    """How large a request may be."""

    body: int  # bytes
    rows: int


class Service:
    """What answers requests; each is answered by the model that was there when it came."""

    def __init__(self, models: Models, bounds: Bounds) -> None:
        self.models, self.bounds, self.metrics = models, bounds, Metrics()

    def app(self) -> ASGIApp:
        """Return the service as an ASGI application."""
        routes = [
            Route("/encode", self.encode, methods=["POST"]),
            Route("/score", self.score, methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
            Route("/metrics", self.tell_metrics, methods=["GET"]),
        ]
        wrong: Any = {HTTPException: _refused}
        return _Measured(
            Starlette(routes=routes, exception_handlers=wrong, lifespan=self._watched), self.metrics
        )

    async def encode(self, request: Request) -> Response:
        """Answer with the columns and values of each row."""
        return await self._answer(request, self.models.current, _columns)

    async def score(self, request: Request) -> Response:
        """Answer with the probabilities, or the number, of each row."""
        loaded = self.models.current
        if loaded.learner is None:
            raise HTTPException(404, "there is no learner; expected a server that has one: --learner FILE")
        return await self._answer(request, loaded, _scores)

    async def health(self, request: Request) -> Response:
        """Tell what is loaded, and what went wrong last."""
        models = self.models
        loaded = models.current
        return _json(
            {
                "status": "ok" if models.last_error is None else "stale",
                "model": models.model,
                "learner": models.learner,
                "loaded": loaded.when.isoformat(),
                "columns": loaded.n_columns,
                "last_error": models.last_error,
                "version": __version__,
            }
        )

    async def tell_metrics(self, request: Request) -> Response:
        """Tell what was counted."""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    async def _answer(
        self, request: Request, loaded: Loaded, tell: Callable[[Loaded, list[SparseRow]], Any]
    ) -> Response:
        try:
            body = await self._body(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody hears it
        try:
            if len(body) <= SMALL:
                return self._work(body, loaded, tell)
            return await run_in_threadpool(self._work, body, loaded, tell)
        except HTTPException:
            raise
        except Exception as error:
            log.error("%s failed: %s", request.url.path, traceback.format_exc())
            raise HTTPException(500, "the server failed at this request; its log says how") from error

    def _work(
        self, body: bytes, loaded: Loaded, tell: Callable[[Loaded, list[SparseRow]], Any]
    ) -> Response:
        """Read a body, encode its rows and tell of them; on a thread, others are answered meanwhile."""
        rows = self._rows(body)
        encoded = [_encoded(loaded, i, row) for i, row in enumerate(rows)]
        answer = _json(tell(loaded, encoded))
        self.metrics.encoded(
            len(rows), sum(row.features for row in encoded), sum(row.unseen for row in encoded)
        )
        return answer

    def _rows(self, body: bytes) -> list[Any]:
        try:
            asked = json.loads(body, parse_constant=no_number)
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, f"the body is no JSON ({error}); {EXPECTED}") from error
        if not isinstance(asked, dict) or list(asked) != ["rows"] or not isinstance(asked["rows"], list):
            raise HTTPException(422, f"the body is no object of a list of rows alone; {EXPECTED}")
        rows = asked["rows"]
        if len(rows) > self.bounds.rows:
            allowed = f"expected at most {self.bounds.rows:,} (--max-rows)"
            raise HTTPException(413, f"the body has {len(rows):,} rows; {allowed}")
        return rows

    async def _body(self, request: Request) -> bytes:
        """Return the body; what is too large is read for a while, and not kept."""
        most, size, parts = self.bounds.body, 0, []
        told = request.headers.get("content-length", "0")
        if told.isdigit() and int(told) > READ_ON * most:
            raise self._too_large()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    size += len(part)
                    if size <= most:
                        parts.append(part)
                    elif size > READ_ON * most:
                        break
        except TimeoutError as error:
            raise HTTPException(408, f"the body did not come within {BODY_SECONDS:.0f} seconds") from error
        if size > most:
            raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> HTTPException:
        return HTTPException(
            413, f"the body is too large; expected at most {self.bounds.body:,} bytes (--max-body)"
        )

    @contextlib.asynccontextmanager
    async def _watched(self, app: Starlette) -> AsyncIterator[None]:
        """Look at the files as long as the server runs."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                done = await run_in_threadpool(self.models.refresh)
            except Exception:
                log.error("a look at the files failed: %s", traceback.format_exc())
                continue
            if done is not None:
                self.metrics.reloaded(done)


class _Measured:
    """An application whose requests are counted and timed."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def heard(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, heard)
        finally:
            path = scope["path"] if scope["path"] in PATHS else "other"
            self.metrics.answered(path, status, time.perf_counter() - start)


def _encoded(loaded: Loaded, number: int, row: Any) -> SparseRow:
    try:
        if not isinstance(row, (list, dict)):
            raise ValueError(f"is {json.dumps(row)[:40]}; expected {A_ROW}")
        return loaded.encoder.encode_sparse(row)
    except ValueError as error:
        raise HTTPException(422, f"rows[{number}]: {error}") from error


def _columns(loaded: Loaded, rows: list[SparseRow]) -> dict[str, Any]:
    each = [{"columns": row.columns.tolist(), "values": row.values.tolist()} for row in rows]
    return {"n_columns": loaded.n_columns, "rows": each}


def _scores(loaded: Loaded, rows: list[SparseRow]) -> dict[str, Any]:
    learner = loaded.learner
    assert learner is not None
    each = [learner.predict(row.columns, row.values) for row in rows]
    for number, scores in enumerate(each):
        if not np.isfinite(scores).all():
            raise HTTPException(422, f"rows[{number}]: numbers too large to score; expected smaller ones")
    if learner.classes is None:
        return {"values": [float(scores[0]) for scores in each]}
    return {"classes": list(learner.classes), "probabilities": [scores.tolist() for scores in each]}


def _json(value: Any, status: int = 200) -> Response:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def _refused(request: Request, error: HTTPException) -> Response:
    """Answer in one line what is wrong with a request."""
    told = " ".join(error.detail.split())
    if error.status_code == 404 and request.url.path not in PATHS:
        told = f"there is no path {request.url.path[:80]}; expected one of {', '.join(PATHS)}"
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another")
        told = f"the method is {request.method[:20]}; expected {allowed}"
    answer = _json({"error": told}, error.status_code)
    answer.headers.update(error.headers or {})
    return answer
