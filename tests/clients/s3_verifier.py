"""A proxy in front of an S3 server that lets through only requests whose signatures botocore would have made.

moto, the server behind it, accepts any signature. The verification here shares no code with the signatures that it
judges. Usage: s3_verifier.py URL ACCESS_KEY SECRET_KEY; prints its own URL.
"""

import hashlib
import re
import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

BEHIND, ACCESS_KEY, SECRET_KEY = sys.argv[1:4]
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$"
)
MUST_BE_SIGNED = {"host", "x-amz-date", "x-amz-content-sha256"}


def problem(handler, body):
    """What is wrong with a request's signature, if anything is."""
    found = AUTHORIZATION.match(handler.headers.get("Authorization", ""))
    if not found:
        return "no signature"
    access_key, _, region, signed, signature = found.groups()
    names = signed.split(";")
    sent = {name.lower() for name in handler.headers.keys()}
    unsigned = [name for name in sent if name.startswith("x-amz-") and name not in names]
    if access_key != ACCESS_KEY or not MUST_BE_SIGNED <= set(names) or unsigned:
        return f"key {access_key}, signed headers {signed}, unsigned {unsigned}"
    if hashlib.sha256(body).hexdigest() != handler.headers["x-amz-content-sha256"]:
        return "the body is not the one that was signed"
    headers = {name: handler.headers[name] for name in names}
    url = f"http://{handler.headers['Host']}{handler.path}"
    request = AWSRequest(method=handler.command, url=url, headers=headers, data=body)
    request.context["timestamp"] = handler.headers["x-amz-date"]
    judge = S3SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", region)
    text = judge.string_to_sign(request, judge.canonical_request(request))
    return None if judge.signature(text, request) == signature else "the signature differs"


class Verifier(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A head and its body in one segment: otherwise each answer waits for a delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.behind = HTTPConnection(urlsplit(BEHIND).netloc)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wrong = problem(self, body)
        if wrong:
            print(f"refused {self.command} {self.path}: {wrong}", file=sys.stderr, flush=True)
            text = f"<Error><Code>SignatureDoesNotMatch</Code><Message>{wrong}</Message></Error>"
            return self.answer(403, {"Content-Type": "application/xml"}, text.encode())
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        self.behind.request(self.command, self.path, body=body or None, headers=headers)
        answer = self.behind.getresponse()
        self.answer(answer.status, answer.headers, answer.read())

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Verifier)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
