"""Runs the cases of cases.json on the real langgraph and prints one JSON line for each.

README.md describes the format of the cases; the example `parity` of `superstep` reads the same file.
"""

import json
import operator
import sys
import threading
import warnings
from collections import Counter
from typing import Annotated, Any, TypedDict

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyInputError, GraphRecursionError, InvalidUpdateError, NodeError
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.config import get_stream_writer
from langgraph.types import Command, Overwrite, RetryPolicy, Send, StateUpdate, interrupt

warnings.filterwarnings("ignore")

TYPES = {"integer": int, "number": float, "string": str, "boolean": bool, "array": list, "object": dict}
ROLES = {"human": "user", "ai": "assistant"}
UNKNOWN_ID = "0" * 31 + "1"


class Boom(Exception):
    """The exception with which a node of a case fails."""


class TrackingCheckpointer(InMemorySaver):
    """A checkpointer that records which tasks have saved writes.

    LangGraph runs a node again if it ends at the moment at which another one fails. A case about nodes that have
    finished before (`fails_after`) must not depend on thread scheduling, so its failing node waits for their writes.
    """

    def __init__(self):
        super().__init__()
        self.step, self.saved, self.changed = None, set(), threading.Condition()

    def put_writes(self, config, writes, task_id, task_path=""):
        super().put_writes(config, writes, task_id, task_path)
        step = config["configurable"]["checkpoint_id"]
        with self.changed:
            if step != self.step:
                self.step, self.saved = step, set()
            self.saved.add(task_id)
            self.changed.notify_all()

    def wait_for(self, tasks):
        """Waits until the writes of this number of tasks of one superstep are saved."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.saved) >= tasks, timeout=120):
                raise RuntimeError(f"the writes of {tasks} tasks were not saved")


def as_list(value):
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def append(left, right):
    return as_list(left) + as_list(right)


def merge(left, right):
    return {**left, **right}


REDUCERS = {
    "add": operator.add,
    "append": append,
    "merge": merge,
    "max": lambda left, right: max(left, right),
    "min": lambda left, right: min(left, right),
    "set_union": lambda left, right: left + [x for i, x in enumerate(right) if x not in left and x not in right[:i]],
    "add_messages": add_messages,
}


def state_type(schema, remaining):
    fields = {}
    for name, field in schema.items():
        kind = TYPES.get((field or {}).get("type"), Any)
        reducer = (field or {}).get("reducer")
        fields[name] = Annotated[list if reducer == "add_messages" else kind, REDUCERS[reducer]] if reducer else kind
    if remaining:
        fields["remaining_steps"] = RemainingSteps
    return TypedDict("State", fields, total=False)


def look_up(env, path):
    value = env
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def fill(form, env):
    """Returns a form with its templates replaced by values."""
    if isinstance(form, str) and form.startswith("$"):
        return look_up(env, form[1:])
    if isinstance(form, list):
        return [fill(item, env) for item in form]
    if isinstance(form, dict):
        if "$add" in form:
            left, right = (fill(item, env) for item in form["$add"])
            return (left or 0) + right
        if "$len" in form:
            return len(fill(form["$len"], env) or [])
        if "$overwrite" in form:
            return Overwrite(fill(form["$overwrite"], env))
        if "$remove" in form:
            return RemoveMessage(id="__remove_all__" if form["$remove"] == "*" else form["$remove"])
        return {key: fill(value, env) for key, value in form.items()}
    return form


def goto_targets(items, env):
    """Returns the targets of a `goto`: names and sends."""
    targets = []
    for item in as_list(items):
        if isinstance(item, str):
            targets.append(fill(item, env))
        elif "each" in item:
            targets += [Send(item["node"], each) for each in fill(item["each"], env) or []]
        else:
            targets.append(Send(item["node"], fill(item["payload"], env)))
    return targets


class Case:
    def __init__(self, case):
        self.case, self.ran, self.lock, self.checkpointer = case, Counter(), threading.Lock(), TrackingCheckpointer()

    def act(self, form, env):
        """Returns the result of a node."""
        if not isinstance(form, dict):
            return fill(form, env)
        if "raise" in form:
            if env["runs"] <= form.get("times", 10**9):
                raise Boom(form["raise"])
            return self.act(form["then"], env)
        if "say" in form:
            for word in as_list(form["say"]):
                get_stream_writer()(fill(word, env))
            return self.act(form["then"], env)
        if "ask" in form:
            answers = [interrupt(fill(question, env)) for question in as_list(form["ask"])]
            return self.act(form["then"], {**env, "answers": answers, "answer": answers[-1]})
        if "ask_until" in form:
            answers = [interrupt(form["question"])]
            while answers[-1] != form["ask_until"]:
                answers.append(interrupt(form["question"]))
            return self.act(form["then"], {**env, "answers": answers, "answer": answers[-1]})
        if "by_run" in form:
            return self.act(form["by_run"][min(env["runs"], len(form["by_run"])) - 1], env)
        if "commands" in form:
            return [self.act(command, env) for command in form["commands"]]
        if "goto" in form or "update" in form:
            graph = Command.PARENT if form.get("parent") else None
            return Command(graph=graph, update=fill(form.get("update"), env), goto=goto_targets(form.get("goto"), env))
        return fill(form, env)

    def body(self, name, form):
        def node(state):
            with self.lock:
                self.ran[name] += 1
                runs = self.ran[name]
            remaining = state.get("remaining_steps") if isinstance(state, dict) else None
            env = {"state": state, "payload": state, "runs": runs, "remaining": remaining}
            self.checkpointer.wait_for(self.case.get("fails_after", {}).get(name, 0))
            return self.act(form, env)

        return node

    def handler(self, form):
        def handler(state, error: NodeError):
            return self.act(form, {"state": state, "error": str(error.error), "node": error.node, "runs": 1})

        return handler

    def child_call(self, name, spec):
        """Returns a node that invokes a graph in its code, once for each input."""
        child = self.build(spec["graph"], None)

        def node(state):
            with self.lock:
                self.ran[name] += 1
            outputs = [child.invoke(fill(each, {"state": state})) for each in spec["calls"]]
            return self.act(spec["then"], {"state": state, "answers": outputs, "answer": outputs[-1], "runs": 1})

        return node

    def build(self, case, checkpointer):
        graph = StateGraph(state_type(case["schema"], "$remaining" in json.dumps(case["nodes"])))
        for name in case.get("order", case["nodes"]):
            spec = case["nodes"][name]
            if "calls" in spec:
                graph.add_node(name, self.child_call(name, spec), defer=name in case.get("defer", []))
                continue
            if "graph" in spec:
                persistence = {"thread": True, "none": False}.get(spec.get("persistence"))
                graph.add_node(name, self.build(spec["graph"], persistence), defer=name in case.get("defer", []))
                continue
            options = {}
            if "retry" in spec:
                options["retry_policy"] = [retry(policy) for policy in spec["retry"]]
            if "on_error" in spec:
                options["error_handler"] = self.handler(spec["on_error"])
            graph.add_node(name, self.body(name, spec["returns"]), defer=name in case.get("defer", []), **options)
        for source, target in case.get("edges", []):
            graph.add_edge(source, target)
        for sources, target in case.get("joins", []):
            graph.add_edge(sources, target)
        for index, route in enumerate(case.get("routes", [])):
            self.route(graph, route, index)
        return graph.compile(
            checkpointer=checkpointer,
            interrupt_before=stops(case.get("before")),
            interrupt_after=stops(case.get("after")),
        )

    def route(self, graph, route, index):
        if "by" in route:
            targets = dict(route["map"])

            def decide(state):
                key = str(look_up({"state": state}, "state." + route["by"]))
                return key if key in targets or "otherwise" not in route else "otherwise"

            if "otherwise" in route:
                targets["otherwise"] = route["otherwise"]
        else:
            targets = None

            def decide(state):
                return goto_targets(route["goto"], {"state": state})

        decide.__name__ = f"decide_{index}"
        graph.add_conditional_edges(route["from"], decide, targets)

    def run(self):
        has_checkpointer = self.case.get("checkpointer", True)
        calls = []
        try:
            self.graph = self.build(self.case, self.checkpointer if has_checkpointer else None)
        except Exception as error:
            calls.append({"error": error_name(error), "interrupts": 0, "next": [], "state": {}})
        else:
            for call in self.case["calls"]:
                calls.append(self.call(call, has_checkpointer))
        last = calls[-1]
        final = {"error": last["error"]} if "error" in last else last["state"]
        return {
            "id": self.case["id"],
            "final": final,
            "interrupts": last["interrupts"],
            "next": last["next"],
            "ran": dict(sorted(self.ran.items())),
            "calls": calls,
        }

    def call(self, call, has_checkpointer):
        config = {"configurable": {"thread_id": call.get("thread", "t")}}
        result, out = {}, None
        if "stream" in call:
            result["parts"] = []
        try:
            at = self.find(config, call["at"]) if "at" in call else config
            if "limit" in call:
                at = {**at, "recursion_limit": call["limit"]}
            if "stream" in call:
                self.watch(call, at, result["parts"])
            else:
                out = self.perform(call, at)
        except Exception as error:
            result["error"] = error_name(error)
            if "--verbose" in sys.argv:
                print(self.case["id"], repr(error), file=sys.stderr)
        if not has_checkpointer:
            waiting = out.pop("__interrupt__", []) if out else []
            return {**result, "state": plain(out or {}), "interrupts": len(waiting), "next": []}
        # The newest checkpoint of the history, without the writes of finished tasks of an unfinished superstep.
        snapshot = next(self.graph.get_state_history(config), None)
        state, next_nodes = (plain(snapshot.values), sorted(set(snapshot.next))) if snapshot else ({}, [])
        if isinstance(out, dict):
            out.pop("__interrupt__", None)
            if any(key in call for key in ("invoke", "resume", "continue", "resume_map", "command")):
                result["out"] = plain(out)
        return {**result, "state": state, "interrupts": self.waiting(config), "next": next_nodes}

    def watch(self, call, config, parts):
        """Returns the parts of a stream, in the order of each mode."""
        input = Command(resume=call["resume"]) if "resume" in call else fill(call["invoke"], {})
        for path, mode, data in self.graph.stream(input, config, stream_mode=call["stream"], subgraphs=True):
            depth = [segment.split(":")[0] for segment in path]
            if not path or call.get("subgraphs"):
                parts.append([mode, depth, normalized_part(mode, data)])

    def waiting(self, config):
        """Returns the number of open interrupts. Reading the state of a thread with conflicting writes raises."""
        try:
            return len(self.graph.get_state(config).interrupts)
        except (InvalidUpdateError, ValueError):
            return 0

    def find(self, config, at):
        """Returns the oldest (or the `nth`) checkpoint with exactly these next nodes."""
        states = [s for s in self.graph.get_state_history(config) if list(s.next) == at["next"]]
        return states[::-1][at.get("nth", 0)].config

    def perform(self, call, config):
        stop = {}
        for key in ("before", "after"):
            if key in call:
                stop["interrupt_" + key] = stops(call[key])
        if "invoke" in call:
            return self.graph.invoke(fill(call["invoke"], {}), config, **stop)
        if "continue" in call:
            return self.graph.invoke(None, config, **stop)
        if "resume" in call:
            return self.graph.invoke(Command(resume=call["resume"]), config, **stop)
        if "command" in call:
            command = call["command"]
            update = fill(command.get("update"), {})
            return self.graph.invoke(Command(update=update, goto=goto_targets(command.get("goto"), {})), config, **stop)
        if "resume_map" in call:
            ids = {str(one.value): one.id for one in self.graph.get_state(config).interrupts}
            resume_values = {ids.get(interrupt_value, UNKNOWN_ID): answer for interrupt_value, answer in call["resume_map"].items()}
            return self.graph.invoke(Command(resume=resume_values), config, **stop)
        if "update_state" in call:
            update = call["update_state"]
            return self.graph.update_state(config, fill(update["values"], {}), update.get("as_node"))
        if "bulk" in call:
            steps = [[StateUpdate(fill(u["values"], {}), u["as_node"]) for u in step] for step in call["bulk"]]
            return self.graph.bulk_update_state(config, steps)
        raise KeyError(f"no such call: {call}")


def normalized_part(mode, data):
    """Returns a part of a stream without ids and times."""
    if mode in ("updates", "values") and "__interrupt__" in data:
        return {"__interrupt__": [one.value for one in data["__interrupt__"]]}
    if mode == "tasks" and "input" in data:
        return {"name": data["name"], "begins": True}
    if mode == "tasks":
        result = None if data["error"] or data["interrupts"] else plain(data["result"]) or None
        return {"name": data["name"], "result": result, "fails": bool(data["error"]), "asks": len(data["interrupts"])}
    if mode == "checkpoints":
        return {"values": plain(data["values"]), "next": list(data["next"]), "step": data["metadata"]["step"],
                "source": data["metadata"]["source"], "has_parent": data["parent_config"] is not None}
    return plain(data)


def retry(policy):
    return RetryPolicy(
        initial_interval=0.001,
        jitter=False,
        max_attempts=policy["attempts"],
        retry_on=lambda error: isinstance(error, Boom) and policy.get("on", "") in str(error),
    )


def stops(names):
    return "*" if names == "*" else names


def plain(value):
    """Returns a state as JSON, without empty fields, and with all messages in the same format."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, BaseMessage):
        message_id = value.id if value.id and len(value.id) < 8 else "*"
        return {"role": ROLES.get(value.type, value.type), "content": value.content, "id": message_id}
    if isinstance(value, Overwrite):
        return {"wrapper": plain(value.value)}
    return value


def error_name(error):
    """Returns the name of our error code for an error."""
    text = str(error)
    if isinstance(error, Boom):
        return "NodeFailed"
    if isinstance(error, GraphRecursionError):
        return "RecursionLimit"
    if isinstance(error, EmptyInputError):
        return "InputInvalid"
    if isinstance(error, InvalidUpdateError) and "INVALID_CONCURRENT_GRAPH_UPDATE" in text:
        return "ConcurrentUpdate"
    for part, name in (
        ("Expected dict", "UnknownField"),
        ("Can receive only one Overwrite", "ConcurrentUpdate"),
        ("Cannot send a packet to the END node", "InvalidRoute"),
        ("Ambiguous update", "InputInvalid"),
        ("does not exist", "InputInvalid"),
        ("Found edge", "InvalidGraph"),
        ("multiple pending interrupts", "InvalidResume"),
        ("Cannot use Command(resume", "NoCheckpointer"),
        ("delete a message with an ID that doesn't exist", "ReducerFailed"),
        ("No checkpointer", "NoCheckpointer"),
        ("Command(update", "InvalidRoute"),
    ):
        if part in text:
            return name
    return "InvalidRoute" if isinstance(error, KeyError) else type(error).__name__


def main():
    path = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "cases.json")
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        print(json.dumps(Case(case).run(), sort_keys=True, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
