"""A web server on this machine that has small files of the paper's layout, and bad moments."""

import contextlib
import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves `files`; `cuts` holds after how many bytes of an answer to hang up, one an answer."""

    def __init__(self):
        self.files = {}
        self.cuts = []
        self.asked = []  # (name, Range) of each request
        self.sends_tag = True
        self.takes_ranges = True
        self.url = None


@contextlib.contextmanager
def serving():
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            name = self.path.lstrip("/")
            wanted = self.headers.get("Range")
            server.asked.append((name, wanted))
            if name not in server.files:
                self.send_error(404)
                return
            data = server.files[name]
            tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            start = 0
            if wanted and server.takes_ranges and self.headers.get("If-Range", tag) == tag:
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
            if start and start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            if server.sends_tag:
                self.send_header("ETag", tag)
            self.end_headers()
            if server.cuts:
                self.wfile.write(data[start : start + server.cuts.pop(0)])
                self.close_connection = True
            else:
                self.wfile.write(data[start:])

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
