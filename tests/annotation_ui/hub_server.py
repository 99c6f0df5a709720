"""A hub on loopback that takes data sets: just enough of Hugging Face's HTTP calls for a push."""

import base64
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_good"


class Hub:
    """What was pushed: files by repository and path, settings, tags; `refusing` answers every commit with an error."""

    def __init__(self):
        self.files, self.settings, self.tags, self.commits = {}, {}, {}, 0
        self.refusing = False


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def _answer(self, document, status=200):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _handle(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer({"error": "Invalid credentials"}, 401)
        path = self.path.partition("?")[0]
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            status = 409 if name in self.hub.files else 200
            self.hub.files.setdefault(name, {})
            return self._answer({"url": f"http://{self.headers['Host']}/datasets/{name}", "id": name}, status)
        if path == "/api/validate-yaml":
            return self._answer({"warnings": [], "errors": []})
        found = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/(\w[\w-]*)(?:/(.*))?)?", path)
        assert found, path
        return self._repository(*found.groups(), body)

    def _repository(self, name, act, rest, body):
        files = self.hub.files[name]
        if act == "settings":
            self.hub.settings[name] = json.loads(body)
            return self._answer({})
        if act == "preupload":
            asked = json.loads(body)["files"]
            modes = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in asked]
            return self._answer({"files": modes})
        if act == "commit":
            if self.hub.refusing:
                return self._answer({"error": "disk is full"}, 400)
            self._commit(files, body)
            return self._answer(
                {"commitUrl": f"http://{self.headers['Host']}/datasets/{name}/commit/{'1' * 40}", "commitOid": "1" * 40}
            )
        if act == "tag":
            self.hub.tags[json.loads(body)["tag"]] = dict(files)
            return self._answer({})
        if act == "tree":
            sizes = {path: len(data) for path, data in files.items()}
            return self._answer(
                [{"type": "file", "path": path, "size": size, "oid": "1" * 40} for path, size in sizes.items()]
            )
        siblings = [{"rfilename": path} for path in files]
        return self._answer({"id": name, "sha": "1" * 40, "siblings": siblings, "private": True, "tags": []})

    def _commit(self, files, body):
        self.hub.commits += 1
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[line["value"]["path"]]

    do_GET = do_POST = do_PUT = _handle

    def log_message(self, *_):
        pass


@contextmanager
def running_hub():
    """Serves a hub; gives (hub, address)."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
