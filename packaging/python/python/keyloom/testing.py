"""Servers for tests: one in memory on a free port, and forks of it.

    with Server() as server:
        db = boto3.client("dynamodb", **server.client_settings())
        ...
        with server.fork() as fork:      # shares what neither has changed; constant time
            ...
"""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

from keyloom import find_keyloom

__all__ = ["Fork", "Server"]


class _Endpoint:
    """An endpoint of DynamoDB on this machine."""

    url: str

    def client_settings(self) -> dict[str, Any]:
        """Arguments for `boto3.client("dynamodb", ...)` and `boto3.resource`."""
        return {
            "endpoint_url": self.url,
            "region_name": "us-east-1",
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
        }

    def fork(self) -> Fork:
        """An independent copy of what is there now, on a port of its own."""
        answer = json.loads(_ask("POST", self.url))
        return Fork(answer["endpoint"])


class Server(_Endpoint):
    """A server in memory on a free port; `close` or the end of a `with` block ends it."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        """Starts it. `options` are further options of `keyloom serve`, such as `["--throttle", "enforce"]`."""
        command = [find_keyloom(), "serve", "--memory", "--port", "0", *options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        words = [word for word in line.split() if "://" in word]
        if not words:
            self._process.kill()
            reason = self._process.stderr.read().strip() or line.strip()
            raise RuntimeError(f"{' '.join(command)} did not start: {reason}")
        self.url = words[0]

    def close(self) -> None:
        """Ends the server, and with it its forks."""
        self._process.terminate()
        # Reads what is left, so that the server cannot wait for room in the pipe.
        self._process.communicate()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Fork(_Endpoint):
    """A copy of a server's data; `close` or the end of a `with` block ends it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def close(self) -> None:
        """Ends the fork."""
        _ask("DELETE", self.url)

    def __enter__(self) -> Fork:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ask(method: str, url: str) -> bytes:
    request = urllib.request.Request(f"{url}/keyloom/fork", method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        reason = error.read().decode("utf-8", "replace").strip()
        raise RuntimeError(f"{method} {url}/keyloom/fork: {reason}") from error
