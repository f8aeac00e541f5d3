//! `superstep doctor`: looks whether everything is there, and writes a report that can be pasted.
//!
//! The report has names and states, never values: no key, no address of a database, no path of a home.

use std::io::IsTerminal;
use std::net::TcpListener;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use superstep::settings::{Checkpoints, Settings};
use superstep_server::{Stores, WEIGHTS};

use crate::args::Global;
use crate::failure::Failure;
use crate::graphs;
use crate::local::block_on;
use crate::models::{is_remote, key_variable, made};
use crate::out::{Out, Tone, toned};
use crate::setup::{Setup, USUAL_STORE};
use crate::version::{VERSION, platform};
use crate::words::{one_line, padded};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// Nothing that keeps anything from working.
    Note,
    Broken,
}

/// One thing that was looked at.
struct Look {
    what: &'static str,
    health: Health,
    says: String,
    /// What went wrong in full, for whoever sits here: it may name paths, so the report has none of it.
    detail: Option<String>,
}

fn look(what: &'static str, health: Health, says: impl Into<String>) -> Look {
    Look { what, health, says: says.into(), detail: None }
}

/// Something is broken. The report has the code alone.
fn broken(what: &'static str, named: &str, failure: &Failure) -> Look {
    let detail = Some(one_line(&failure.to_string()));
    Look { detail, ..look(what, Health::Broken, format!("{named}{}", failure.code_text())) }
}

/// Looks at everything; ends with 1 when something is broken.
pub(crate) fn doctor(global: &Global, out: &Out) -> Result<u8, Failure> {
    let mut looks = vec![look("superstep", Health::Good, format!("{VERSION} on {}", platform())), compiler(), clock()];
    looks.push(terminal());
    match Setup::load(global) {
        Ok(setup) => {
            looks.push(settings(global));
            looks.push(port(&setup.settings));
            looks.push(store(&setup));
            looks.extend(graphs(&setup));
            looks.extend(models(&setup));
        }
        Err(failure) => looks.push(broken("settings", "", &failure)),
    }
    let is_broken = looks.iter().any(|look| look.health == Health::Broken);
    match out.is_text() {
        true => show(&looks, is_broken, out),
        false => {
            let rows =
                looks.iter().map(|look| json!({ "what": look.what, "health": word(look.health), "says": look.says }));
            out.json(&json!({ "ok": !is_broken, "looks": rows.collect::<Vec<_>>() }));
        }
    }
    Ok(u8::from(is_broken))
}

fn show(looks: &[Look], is_broken: bool, out: &Out) {
    for Look { what, health, says, detail } in looks {
        let mark = match health {
            Health::Good => toned(Tone::Good, "✓"),
            Health::Note => toned(Tone::Asks, "-"),
            Health::Broken => toned(Tone::Bad, "✗"),
        };
        out.note(format_args!(" {mark} {}  {says}", padded(what, 10)));
        detail.iter().for_each(|detail| out.note(format_args!("   {}  {detail}", padded("", 10))));
    }
    out.note(if is_broken {
        "something is broken; the report can be pasted:"
    } else {
        "all is well; the report can be pasted:"
    });
    out.result("```text");
    looks.iter().for_each(|look| out.result(format_args!("{} {}: {}", word(look.health), look.what, look.says)));
    out.result("```");
}

fn word(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Note => "note",
        Health::Broken => "broken",
    }
}

fn compiler() -> Look {
    let found = Command::new("rustc").arg("--version").output().ok().filter(|output| output.status.success());
    match found {
        Some(output) => look("compiler", Health::Good, String::from_utf8_lossy(&output.stdout).trim()),
        None => look("compiler", Health::Note, "no rustc; it is needed only for graphs in Rust"),
    }
}

fn clock() -> Look {
    // This program did not exist before; a clock that says so breaks ids and connections.
    const BUILT: u64 = 1_735_689_600;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or(0);
    match now {
        BUILT..4_102_444_800 => look("clock", Health::Good, "in this century, and after this program was written"),
        _ => look("clock", Health::Broken, "the time of this machine is wrong: threads could not be ordered"),
    }
}

fn terminal() -> Look {
    let stands = |is_terminal: bool| if is_terminal { "a terminal" } else { "not a terminal" };
    let (input, output) = (stands(std::io::stdin().is_terminal()), stands(std::io::stdout().is_terminal()));
    let term = if std::env::var_os("TERM").is_some_and(|term| term == "dumb") { ", dumb" } else { "" };
    look("terminal", Health::Good, format!("input is {input}, output is {output}{term}"))
}

fn settings(global: &Global) -> Look {
    let is_there = std::path::Path::new("superstep.toml").is_file();
    match (&global.config, is_there) {
        (Some(_), _) => look("settings", Health::Good, "a file that was named"),
        (None, true) => look("settings", Health::Good, "superstep.toml"),
        (None, false) => look("settings", Health::Note, "no superstep.toml here; defaults hold"),
    }
}

fn port(settings: &Settings) -> Look {
    let (host, port) = (&settings.server.host, settings.server.port);
    match TcpListener::bind((host.trim_matches(['[', ']']), port)) {
        Ok(_) => look("port", Health::Good, format!("{port} is free")),
        Err(error) => {
            let help = "`superstep serve --port 0` takes a free one";
            look("port", Health::Note, format!("{port} cannot be listened on ({}); {help}", error.kind()))
        }
    }
}

fn store(setup: &Setup) -> Look {
    let kind = match &setup.settings.stores.checkpoints {
        Checkpoints::Sqlite(path) if path.as_os_str() == USUAL_STORE && !path.exists() => {
            return look("store", Health::Good, format!("{USUAL_STORE}, made by the first run"));
        }
        Checkpoints::Sqlite(_) => "sqlite",
        Checkpoints::Postgres(_) if setup.is_offline => {
            return look("store", Health::Note, "postgres, not asked: offline");
        }
        Checkpoints::Postgres(_) => "postgres",
        _ => return look("store", Health::Note, "memory: threads end with the process"),
    };
    let written = block_on(async {
        let stores = Stores::open(&setup.settings.stores.checkpoints).await?;
        stores.items.put(["superstep", "doctor"], "look", json!({ "is": "here" })).await?;
        stores.items.delete(["superstep", "doctor"], "look").await?;
        Ok(())
    });
    match written {
        Ok(()) => look("store", Health::Good, format!("{kind} opens and writes")),
        // In full it may name the address of a database.
        Err(failure) => look("store", Health::Broken, format!("{kind}: {}", failure.code_text())),
    }
}

fn graphs(setup: &Setup) -> Vec<Look> {
    let names = match graphs::names(setup) {
        Ok(names) => names,
        Err(failure) => return vec![broken("graphs", "", &failure)],
    };
    if names.is_empty() {
        return vec![look("graphs", Health::Note, "none; name one in superstep.toml")];
    }
    let each = names.iter().map(|name| match graphs::find(setup, name) {
        Ok(_) => look("graph", Health::Good, name.as_str()),
        Err(failure) => broken("graph", &format!("{name}: "), &failure),
    });
    each.collect()
}

fn models(setup: &Setup) -> Vec<Look> {
    let models = setup.settings.models.iter();
    let each = models.map(|(name, set)| {
        let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
        let (health, says) = match key_variable(set).filter(|_| set.api_key.is_none()) {
            // Why is not said: it may name a path.
            None if set.provider == WEIGHTS => match made(setup, name, set) {
                Ok(_) => (Health::Good, "its file is there".to_owned()),
                Err(_) => (Health::Note, "cannot be asked: no file for it, or a build without weights".to_owned()),
            },
            Some(variable) if !is_set(variable) => (Health::Note, format!("no key: {variable} is not set")),
            Some(variable) => (Health::Good, format!("key in {variable}")),
            None if set.api_key.is_some() => (Health::Good, "key in the settings".to_owned()),
            None if is_remote(set) => (Health::Good, "asked without a key".to_owned()),
            None => (Health::Good, "needs no key".to_owned()),
        };
        look("model", health, format!("{name} ({}): {says}", set.provider))
    });
    each.collect()
}
