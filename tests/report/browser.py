"""A headless Chromium, driven through its pipe: JSON messages that end in a zero byte."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 900  # seconds, on a machine that is busy


def program():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One page; `errors` are what the console said, in this page and before it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        here_out, there_in = os.pipe()[::-1]
        here_in, there_out = os.pipe()
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars"
            f" --disable-background-networking --remote-debugging-pipe --user-data-dir={self.folder.name}"
        )

        def place():  # the browser reads from 3 and writes to 4
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 64) for end in (there_in, there_out)]
            os.dup2(ends[0], 3), os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [program(), *flags.split(), "about:blank"],
            close_fds=False,
            preexec_fn=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there_in), os.close(there_out)
        self.out, self.input = os.fdopen(here_out, "wb"), here_in
        self.rest = b""
        self.number, self.errors, self.requests, self.loaded, self.session = 0, [], [], set(), None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        self.out.close()
        os.close(self.input)
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        self.out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self):
        while b"\0" not in self.rest:
            assert select.select([self.input], [], [], PATIENCE)[0], "the browser does not answer"
            piece = os.read(self.input, 1 << 16)
            assert piece, "the browser ended"
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(text)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif method in ("Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening"):
            self.errors.append(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.lifecycleEvent" and params["name"] == "load":
            self.loaded.add(params["loaderId"])
        return message

    def open(self, url, width=1280, height=900, dark=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self._go("about:blank")  # else another fragment of the same page would not load it again
        self.errors, self.requests = [], []
        self._go(url)

    def _go(self, url):
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while loader not in self.loaded:
            self._read()

    def run(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def type(self, id_, text):
        self.run(f"document.getElementById({json.dumps(id_)}).focus()")
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
