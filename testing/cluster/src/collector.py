"""An OTLP collector for tests, which decodes spans with the definitions of the OpenTelemetry project.

`GET /received` returns the received requests as JSON, `GET /bytes` their original bytes. `POST /metrics` parses a text
with the parser of the Prometheus project. The program exits when its standard input is closed.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from prometheus_client.parser import text_string_to_metric_families

RECEIVED = []
LOCK = threading.Lock()


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            self.respond(200, *self.process(body))
        except Exception as error:
            self.respond(400, "text/plain", repr(error).encode())

    def process(self, body):
        if self.path == "/metrics":
            families = text_string_to_metric_families(body.decode())
            rows = [[family.name, family.type, len(family.samples)] for family in families]
            return "application/json", json.dumps(rows).encode()
        if self.path != "/v1/traces" or self.headers["content-type"] != "application/x-protobuf":
            raise ValueError(f"{self.path}: {self.headers['content-type']}")
        request = ExportTraceServiceRequest.FromString(body)
        with LOCK:
            RECEIVED.append((dict(self.headers), body, MessageToDict(request)))
        return "application/x-protobuf", ExportTraceServiceResponse().SerializeToString()

    def do_GET(self):
        with LOCK:
            received = list(RECEIVED)
        if self.path == "/bytes":
            return self.respond(200, "application/octet-stream", b"".join(body for _, body, _ in received))
        rows = [{"headers": headers, "spans": spans} for headers, _, spans in received]
        self.respond(200, "application/json", json.dumps(rows).encode())

    def respond(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
os._exit(0)
