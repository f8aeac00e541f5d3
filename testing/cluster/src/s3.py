"""An S3 server for tests: moto, behind a check of every signature with botocore, Amazon's Python library.

moto accepts unsigned requests, and its conditional writes are not atomic. This program rejects requests with an invalid
signature and forwards the others one at a time. Buckets whose name starts with BUCKET are created on first use.

Usage: s3.py PORT KEY_ID SECRET BUCKET
"""

import hashlib
import io
import sys
import threading

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, run_simple

PORT, KEY_ID, SECRET, BUCKET = sys.argv[1:]
LOCK = threading.Lock()
BACKEND = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
MOTO = create_backend_app("s3")


def field(text, name):
    return text.partition(f"{name}=")[2].partition(",")[0].strip()


def signature_error(environ, body):
    """Returns the S3 error code of a request with an invalid signature, and None for a valid one."""
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    authorization = headers.get("authorization", "")
    if not authorization.startswith("AWS4-HMAC-SHA256 "):
        return "AccessDenied"
    if hashlib.sha256(body).hexdigest() != headers.get("x-amz-content-sha256"):
        return "XAmzContentSHA256Mismatch"
    key_id, _, region, service, _ = field(authorization, "Credential").split("/")
    if key_id != KEY_ID:
        return "InvalidAccessKeyId"
    signed = field(authorization, "SignedHeaders").split(";")
    url = f"http://{headers['host']}{environ['RAW_URI']}"
    request = AWSRequest(environ["REQUEST_METHOD"], url, {name: headers[name] for name in signed}, body)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = S3SigV4Auth(Credentials(KEY_ID, SECRET), service, region)
    to_sign = signer.string_to_sign(request, signer.canonical_request(request))
    return None if signer.signature(to_sign, request) == field(authorization, "Signature") else "SignatureDoesNotMatch"


def app(environ, start):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    code = signature_error(environ, body) if environ["PATH_INFO"] != "/ready" else "Ready"
    if code:
        response = f"<Error><Code>{code}</Code><Message>invalid signature</Message></Error>".encode()
        start("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(response)))])
        return [response]
    status_and_headers = []
    with LOCK:
        ensure_bucket(environ["PATH_INFO"].split("/")[1])
        response = b"".join(MOTO(environ, lambda *args: status_and_headers.extend(args[:2])))
    status, headers = status_and_headers
    headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start(status, [*headers, ("Content-Length", str(len(response)))])
    return [response]


def ensure_bucket(bucket):
    """Creates a bucket on its first request. Tests use separate buckets, because lists of large buckets are slow."""
    if bucket.startswith(BUCKET) and bucket not in BACKEND.buckets:
        BACKEND.create_bucket(bucket, "us-east-1")


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


run_simple("127.0.0.1", int(PORT), app, threaded=True, request_handler=Handler)
