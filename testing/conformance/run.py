#!/usr/bin/env python3
"""Runs LangGraph's checkpointer conformance suite against one of our checkpointers.

run.py COMMAND... starts COMMAND once for each part of the suite, with an empty checkpointer: {fresh} in COMMAND is
replaced by a path that does not exist. README.md describes the protocol on its stdin and stdout. The last line has the
number of passed and failed tests.
"""

import asyncio
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

from langgraph.checkpoint import base
from langgraph.checkpoint.conformance import checkpointer_test, validate


class Child:
    """The program under test, which answers each request with one response."""

    def __init__(self, command, folder):
        fresh = str(pathlib.Path(folder) / "store")
        args = [arg.replace("{fresh}", fresh) for arg in command]
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def request(self, op, **fields):
        print(json.dumps({"op": op, **fields}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the program ended at `{op}`")
        response = json.loads(line)
        if "ok" not in response:
            raise RuntimeError(f"{op}: {response['err']}")
        return response["ok"]

    def close(self):
        self.process.stdin.close()
        if code := self.process.wait(timeout=60):
            raise RuntimeError(f"the program ended with {code}")


class Checkpointer(base.BaseCheckpointSaver):
    """A checkpointer without storage: the program under test stores its values as bytes."""

    def __init__(self, child):
        super().__init__()
        self.request = child.request

    def pack(self, value):
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode("ascii")]

    def unpack(self, kind, data):
        return self.serde.loads_typed((kind, base64.b64decode(data)))

    @staticmethod
    def key(config):
        configurable = config["configurable"]
        return {"t": configurable["thread_id"], "ns": configurable.get("checkpoint_ns", "")}

    @staticmethod
    def config(t, ns, cid):
        return {"configurable": {"thread_id": t, "checkpoint_ns": ns, "checkpoint_id": cid}}

    def restore(self, row):
        t, ns, parent = row["t"], row["ns"], row["parent"]
        values = {channel: self.unpack(*value) for channel, value in row["vals"].items()}
        return base.CheckpointTuple(
            config=self.config(t, ns, row["cid"]),
            checkpoint={**self.unpack(*row["skel"]), "channel_values": values},
            metadata=row["meta"],
            parent_config=self.config(t, ns, parent) if parent else None,
            pending_writes=[(task, channel, self.unpack(*value)) for task, channel, *value in row["writes"]],
        )

    async def aput(self, config, checkpoint, metadata, new_versions):
        key = self.key(config)
        values = checkpoint["channel_values"]
        self.request(
            "put",
            **key,
            cid=checkpoint["id"],
            parent=base.get_checkpoint_id(config),
            skel=self.pack({name: value for name, value in checkpoint.items() if name != "channel_values"}),
            versions=checkpoint["channel_versions"],
            meta=base.get_checkpoint_metadata(config, metadata),
            blobs=[
                [channel, version, self.pack(values[channel])]
                for channel, version in new_versions.items()
                if channel in values
            ],
        )
        return self.config(key["t"], key["ns"], checkpoint["id"])

    async def aput_writes(self, config, writes, task_id, task_path=""):
        packed = [[channel, *self.pack(value)] for channel, value in writes]
        cid = base.get_checkpoint_id(config)
        self.request("put_writes", **self.key(config), cid=cid, task=task_id, path=task_path, writes=packed)

    async def aget_tuple(self, config):
        row = self.request("get", **self.key(config), cid=base.get_checkpoint_id(config))
        return row and self.restore(row)

    async def alist(self, config, *, filter=None, before=None, limit=None):
        configurable = config["configurable"] if config else {}
        rows = self.request(
            "list",
            t=configurable.get("thread_id"),
            ns=configurable.get("checkpoint_ns"),
            cid=configurable.get("checkpoint_id"),
            filter=filter,
            before=before and base.get_checkpoint_id(before),
            limit=limit,
        )
        for row in rows:
            yield self.restore(row)

    async def adelete_thread(self, thread_id):
        self.request("delete_thread", t=thread_id)

    async def adelete_for_runs(self, run_ids):
        self.request("delete_for_runs", runs=list(run_ids))

    async def acopy_thread(self, source_thread_id, target_thread_id):
        self.request("copy_thread", src=source_thread_id, dst=target_thread_id)

    async def aprune(self, thread_ids, *, strategy="keep_latest"):
        self.request("prune", threads=list(thread_ids), strategy=strategy)


@checkpointer_test(name="superstep")
async def under_test():
    with tempfile.TemporaryDirectory() as folder:
        child = Child(sys.argv[1:], folder)
        yield Checkpointer(child)
        child.close()


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: run.py COMMAND...")
    results = asyncio.run(validate(under_test)).results
    for part, result in results.items():
        counts = f"{result.tests_passed} passed, {result.tests_failed} failed" if result.detected else "NOT RUN"
        print(f"{part}: {counts}")
        for failure in result.failures:
            print(f"  {failure}")
    passed = sum(result.tests_passed for result in results.values())
    failed = sum(result.tests_failed + (not result.detected) for result in results.values())
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
