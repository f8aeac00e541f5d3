//! The template language of the cases: outputs of nodes, written as JSON with templates.

use serde_json::{Map, Value, json};
use superstep::core::command::GotoTarget;
use superstep::core::port::BoxFuture;
use superstep::prelude::*;
use superstep::{DynamicState, Result, StreamMode};

pub(crate) type Forms = Vec<Command<DynamicState>>;

/// Returns a single value or a list as a slice.
pub(crate) fn many(form: &Value) -> &[Value] {
    match form {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

pub(crate) fn text(form: &Value) -> String {
    form.as_str().map_or_else(|| form.to_string(), str::to_owned)
}

fn look_up(env: &Value, path: &str) -> Value {
    let step = |value: &Value, key: &str| match value {
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)).cloned(),
        other => other.get(key).cloned(),
    };
    path.split('.').try_fold(env.clone(), |value, key| step(&value, key)).unwrap_or(Value::Null)
}

/// Replaces the templates of a form by values.
pub(crate) fn fill(form: &Value, env: &Value) -> Value {
    match form {
        Value::String(path) if path.starts_with('$') => look_up(env, &path[1..]),
        Value::Array(items) => items.iter().map(|item| fill(item, env)).collect(),
        Value::Object(map) => fill_map(map, env),
        other => other.clone(),
    }
}

fn fill_map(map: &Map<String, Value>, env: &Value) -> Value {
    if let Some(Value::Array(both)) = map.get("$add") {
        let sum: i64 = both.iter().filter_map(|item| fill(item, env).as_i64()).sum();
        return json!(sum);
    }
    if let Some(list) = map.get("$len") {
        return json!(fill(list, env).as_array().map_or(0, Vec::len));
    }
    if let Some(value) = map.get("$overwrite") {
        return json!({ "__overwrite__": fill(value, env) });
    }
    if let Some(id) = map.get("$remove") {
        return json!({ "type": "remove", "id": if id == "*" { "__remove_all__" } else { id.as_str().unwrap_or("") } });
    }
    map.iter().map(|(key, value)| (key.clone(), fill(value, env))).collect()
}

/// Converts the items of a `goto`: node names and sends.
pub(crate) fn goto_targets(items: &Value, env: &Value) -> Goto {
    let mut go = Goto::none();
    for item in many(items) {
        if let Value::String(_) = item {
            go = go.and_node(text(&fill(item, env)));
            continue;
        }
        let to = text(&item["node"]);
        match item.get("each") {
            Some(list) => {
                for payload in many(&fill(list, env)) {
                    go = go.and_send(SendTo::new(to.clone(), payload.clone()));
                }
            }
            None => go = go.and_send(SendTo::new(to, fill(&item["payload"], env))),
        }
    }
    go
}

pub(crate) fn command(form: &Value, env: &Value) -> Command<DynamicState> {
    let mut result = Command::new();
    if let Some(update) = form.get("update").filter(|update| !update.is_null()) {
        result = result.update(fill(update, env));
    }
    for hop in goto_targets(&form["goto"], env) {
        result = match hop {
            GotoTarget::Node(node) => result.and_goto(node),
            GotoTarget::Send(send) => result.send(*send),
        };
    }
    if form["parent"] == true { result.to_parent() } else { result }
}

/// Computes the output of a node from its form.
pub(crate) fn act(form: Value, mut env: Value, cx: TaskContext) -> BoxFuture<'static, Result<Forms, NodeError>> {
    Box::pin(async move {
        let runs = env["runs"].as_u64().unwrap_or(1);
        if form.get("raise").is_some() {
            if form.get("times").is_none_or(|times| Some(runs) <= times.as_u64()) {
                return Err(NodeError::new(text(&form["raise"])));
            }
            return act(form["then"].clone(), env, cx).await;
        }
        if let Some(words) = form.get("say") {
            for word in many(words) {
                cx.emit(fill(word, &env)).await?;
            }
            return act(form["then"].clone(), env, cx).await;
        }
        if form.get("ask").is_some() || form.get("ask_until").is_some() {
            env["answers"] = raise_interrupts(&form, &env, &cx).await?;
            env["answer"] = env["answers"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            return act(form["then"].clone(), env, cx).await;
        }
        if let Some(by_run) = form.get("by_run") {
            let forms = many(by_run);
            let chosen = usize::try_from(runs)?.min(forms.len()) - 1;
            return act(forms[chosen].clone(), env, cx).await;
        }
        if let Some(all) = form.get("commands") {
            return Ok(many(all).iter().map(|form| command(form, &env)).collect());
        }
        Ok(match &form {
            Value::Null => Vec::new(),
            form if form.get("goto").is_some() || form.get("update").is_some() => vec![command(form, &env)],
            form => vec![Command::new().update(fill(form, &env))],
        })
    })
}

/// Raises all interrupts of a form and returns their resume values.
async fn raise_interrupts(form: &Value, env: &Value, cx: &TaskContext) -> Result<Value, NodeError> {
    let put = async |question: Value| cx.interrupts().raise_with_schema(&text(&question), &question, "", None).await;
    let mut answers = Vec::new();
    for question in form.get("ask").map(many).unwrap_or_default() {
        answers.push(put(fill(question, env)).await?);
    }
    if let Some(last) = form.get("ask_until") {
        while answers.last() != Some(last) {
            answers.push(put(form["question"].clone()).await?);
        }
    }
    Ok(Value::Array(answers))
}

/// Returns the goto targets of a form: those for the parent graph, or all others.
pub(crate) fn targets(form: &Value, parent: bool) -> Vec<String> {
    let mut names = Vec::new();
    match form {
        Value::Object(map) => {
            for item in form.get("goto").map(many).unwrap_or_default() {
                if (form["parent"] == true) == parent {
                    names.push(text(item.get("node").unwrap_or(item)));
                }
            }
            names.extend(map.values().flat_map(|value| targets(value, parent)));
        }
        Value::Array(items) => names.extend(items.iter().flat_map(|item| targets(item, parent))),
        _ => {}
    }
    names
}

/// Returns a part of a stream without ids and times.
pub(crate) fn normalized(mode: StreamMode, data: &Value) -> Value {
    if let Some(interrupts) = data.get("__interrupt__") {
        return json!({ "__interrupt__": many(interrupts).iter().map(|one| &one["value"]).collect::<Vec<_>>() });
    }
    match mode {
        StreamMode::Tasks if data.get("input").is_some() => json!({ "name": data["name"], "begins": true }),
        StreamMode::Tasks => {
            let (fails, interrupt_count) = (!data["error"].is_null(), many(&data["interrupts"]).len());
            let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
            let result =
                Some(plain(&data["result"])).filter(|result| !fails && interrupt_count == 0 && !is_empty(result));
            json!({ "name": data["name"], "result": result, "fails": fails, "asks": interrupt_count })
        }
        StreamMode::Checkpoints => json!({
            "values": plain(&data["values"]), "next": data["next"], "step": data["metadata"]["step"],
            "source": data["metadata"]["source"], "has_parent": !data["parent_config"].is_null(),
        }),
        _ => plain(data),
    }
}

/// Returns a state as JSON, without fields that have no value, and with normalized messages.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(map) if map.contains_key("role") => {
            let id = map["id"].as_str().filter(|id| id.len() < 8).unwrap_or("*");
            json!({ "role": map["role"], "content": map["content"], "id": id })
        }
        Value::Object(map) => {
            map.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}
