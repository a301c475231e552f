"""`chromatic serve` in a process of its own, for tests."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time

PATIENCE = 120  # seconds, for a busy machine


def wait_for(holds):
    """Ask again and again, until the answer is true; return it."""
    end = time.monotonic() + PATIENCE
    while not (told := holds()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return told


class Server:
    """A server on a free port; what it says to its log is in a file."""

    def __init__(self, folder, *args):
        self.log = folder / "server.log"
        command = [sys.executable, "-m", "chromatic.cli.main", "serve", *map(str, args), "--port", "0"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, cwd=folder, text=True
            )
        self.said = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)$", self.said.strip())
        assert found, self.log.read_text()
        self.port = int(found[1])

    def ask(self, path, body=None, method=None):
        """Return the status and the text of an answer.

        A tuple of bytes is sent in chunks, without its length before; what is no bytes, as JSON.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        if isinstance(body, tuple):
            body = iter(body)
        elif body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def told(self, path, body=None):
        """Return what a good answer says."""
        status, text = self.ask(path, body)
        assert status == 200, text
        return json.loads(text)

    def begun(self, path, body):
        """Begin a request, half of whose body is sent when it is under way; the rest is to `finish`."""
        half = len(body) // 2
        line = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        head = f"POST {path} HTTP/1.1", "Host: x", "Expect: 100-continue", f"Content-Length: {len(body)}"
        line.sendall("\r\n".join([*head, "", ""]).encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 100 ")
        line.sendall(body[:half])
        return line, body[half:]

    def is_open(self):
        """Whether it still listens."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
        except ConnectionError:
            return False
        return True

    def stop(self, number):
        """Send a signal; return the exit code, what the process said last, and its log."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self):
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()


def finish(line, rest):
    """Send the rest of a body; return the status and the text of the answer."""
    with line:
        line.sendall(rest)
        answer = http.client.HTTPResponse(line)
        answer.begin()
        return answer.status, answer.read().decode()
