"""The Hugging Face Hub's protocol for repositories of files, on 127.0.0.1: the far end of its own client.

Repositories are made, commits taken file by file, and files given as they were at the last commit. Nothing else is
known: any other request is answered with 404, which the client raises.
"""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

__all__ = ["Hub"]

_FILES = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/[^/]+/(?P<path>.+)")
_ABOUT = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)(?P<rest>/.*)?")


class Hub:
    """A server that Hugging Face's client is pointed to.

    Attributes:
        files: repository -> path -> content.
        private: the repositories that were made private.
        tokens: what requests about repositories were authorized by.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: set[str] = set()
        self.tokens: set[str | None] = set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub._give(self)

            def do_HEAD(self) -> None:
                hub._give(self)

            def do_POST(self) -> None:
                hub._take(self)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{self.server.server_port}"
        monkeypatch.setenv("HF_TOKEN", "hf_no_token")
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            address + "/{repo_id}/resolve/{revision}/{filename}",
        )

    def close(self) -> None:
        """End the server."""
        self.server.shutdown()
        self.server.server_close()

    def _give(self, request: BaseHTTPRequestHandler) -> None:
        if _FILES.fullmatch(request.path) or _ABOUT.fullmatch(
            request.path
        ):  # the client asks for other things, too
            self.tokens.add(request.headers["Authorization"])
        if (found := _FILES.fullmatch(request.path)) and found["path"] in self.files.get(found["repo"], {}):
            data = self.files[found["repo"]][found["path"]]
            etag = hashlib.sha256(data).hexdigest()
            return _answer(
                request, 200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": self._head(found["repo"])}
            )
        if (found := _ABOUT.fullmatch(request.path)) and found["repo"] in self.files:
            listed = sorted(self.files[found["repo"]].items())
            if (found["rest"] or "").startswith("/tree/"):
                about = [
                    {"type": "file", "path": path, "size": len(data), "oid": path} for path, data in listed
                ]
                return _json(request, about)
            names = [{"rfilename": path} for path, _ in listed]
            return _json(request, {"id": found["repo"], "sha": self._head(found["repo"]), "siblings": names})
        return _json(request, {"error": "Repository not found"}, 404)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        self.tokens.add(request.headers["Authorization"])
        body = request.rfile.read(int(request.headers["Content-Length"]))
        if request.path == "/api/repos/create":
            return self._made(request, json.loads(body))
        found = _ABOUT.fullmatch(request.path)
        if found is None or found["repo"] not in self.files:
            return _json(request, {"error": "Repository not found"}, 404)
        if found["rest"] == "/preupload/main":
            asked = [one["path"] for one in json.loads(body)["files"]]
            modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in asked]
            return _json(request, {"files": modes})
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                self.files[found["repo"]][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        head = self._head(found["repo"])
        address = f"https://huggingface.co/{found['repo']}/commit/{head}"
        return _json(request, {"success": True, "commitOid": head, "commitUrl": address})

    def _made(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        repository = f"{asked['organization']}/{asked['name']}"
        there = repository in self.files
        self.files.setdefault(repository, {})
        if asked["visibility"] == "private":
            self.private.add(repository)
        _json(request, {"url": f"http://127.0.0.1/{repository}", "name": repository}, 409 if there else 200)

    def _head(self, repository: str) -> str:
        whole = sorted((path, data.hex()) for path, data in self.files[repository].items())
        return hashlib.sha1(repr(whole).encode()).hexdigest()


def _json(request: BaseHTTPRequestHandler, value: Any, status: int = 200) -> None:
    _answer(request, status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _answer(request: BaseHTTPRequestHandler, status: int, data: bytes, headers: dict[str, str]) -> None:
    request.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(data))}.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(data)
