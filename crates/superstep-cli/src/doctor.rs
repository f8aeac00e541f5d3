//! `superstep doctor`: checks the installation, and prints a report that can be shared.
//!
//! The report contains names and states, never values: no key, no database address, no path of a home directory.

use std::io::IsTerminal;
use std::net::TcpListener;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use superstep::settings::{CheckpointerSettings, Settings};
use superstep_server::{LOCAL_WEIGHTS_PROVIDER, Storage};

use crate::args::GlobalArgs;
use crate::cli_config::{CliConfig, DEFAULT_CHECKPOINTER_PATH};
use crate::error::CliError;
use crate::graphs;
use crate::models::{build_model, is_remote, key_variable};
use crate::output::{Output, TextStyle, styled};
use crate::runtime::block_on;
use crate::text::{one_line, padded};
use crate::version::{VERSION, platform};

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// A remark that prevents nothing from working.
    Note,
    Broken,
}

/// One check of the report.
struct Check {
    name: &'static str,
    health: Health,
    message: String,
    /// Full error for the local user; it may contain paths, so the report omits it.
    detail: Option<String>,
}

fn check(name: &'static str, health: Health, message: impl Into<String>) -> Check {
    Check { name, health, message: message.into(), detail: None }
}

/// Creates a failed check. The report contains only the error code.
fn failed_check(name: &'static str, prefix: &str, failure: &CliError) -> Check {
    let detail = Some(one_line(&failure.to_string()));
    Check { detail, ..check(name, Health::Broken, format!("{prefix}{}", failure.code_text())) }
}

/// Runs all checks; returns exit code 1 if one failed.
pub(crate) fn doctor(global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let mut checks =
        vec![check("superstep", Health::Good, format!("{VERSION} on {}", platform())), compiler(), clock()];
    checks.push(terminal());
    match CliConfig::load(global) {
        Ok(config) => {
            checks.push(settings(global));
            checks.push(port(&config.settings));
            checks.push(checkpointer(&config));
            checks.extend(graphs(&config));
            checks.extend(models(&config));
        }
        Err(failure) => checks.push(failed_check("settings", "", &failure)),
    }
    let is_broken = checks.iter().any(|entry| entry.health == Health::Broken);
    match out.is_text() {
        true => print_report(&checks, is_broken, out),
        false => {
            let rows = checks
                .iter()
                .map(|entry| json!({ "what": entry.name, "health": health_name(entry.health), "says": entry.message }));
            out.json(&json!({ "ok": !is_broken, "looks": rows.collect::<Vec<_>>() }));
        }
    }
    Ok(u8::from(is_broken))
}

fn print_report(checks: &[Check], is_broken: bool, out: &Output) {
    for Check { name, health, message, detail } in checks {
        let mark = match health {
            Health::Good => styled(TextStyle::Good, "✓"),
            Health::Note => styled(TextStyle::Prompt, "-"),
            Health::Broken => styled(TextStyle::Bad, "✗"),
        };
        out.print_note(format_args!(" {mark} {}  {message}", padded(name, 10)));
        detail.iter().for_each(|detail| out.print_note(format_args!("   {}  {detail}", padded("", 10))));
    }
    out.print_note(if is_broken {
        "problems found; copy this report to share it:"
    } else {
        "no problems found; copy this report to share it:"
    });
    out.print_result("```text");
    checks.iter().for_each(|entry| {
        out.print_result(format_args!("{} {}: {}", health_name(entry.health), entry.name, entry.message))
    });
    out.print_result("```");
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Note => "note",
        Health::Broken => "broken",
    }
}

fn compiler() -> Check {
    let compiler_output = Command::new("rustc").arg("--version").output().ok().filter(|output| output.status.success());
    match compiler_output {
        Some(output) => check("compiler", Health::Good, String::from_utf8_lossy(&output.stdout).trim()),
        None => check("compiler", Health::Note, "rustc not found; only graphs in Rust need it"),
    }
}

fn clock() -> Check {
    // A clock before the first release of this program is wrong, and breaks ids and connections.
    const FIRST_RELEASE: u64 = 1_735_689_600;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|elapsed| elapsed.as_secs()).unwrap_or(0);
    match now {
        FIRST_RELEASE..4_102_444_800 => check("clock", Health::Good, "the system time is plausible"),
        _ => check("clock", Health::Broken, "the system time is wrong; threads cannot be ordered"),
    }
}

fn terminal() -> Check {
    let describe = |is_terminal: bool| if is_terminal { "a terminal" } else { "not a terminal" };
    let (input, output) = (describe(std::io::stdin().is_terminal()), describe(std::io::stdout().is_terminal()));
    let term = if std::env::var_os("TERM").is_some_and(|term| term == "dumb") { ", dumb" } else { "" };
    check("terminal", Health::Good, format!("input is {input}, output is {output}{term}"))
}

fn settings(global: &GlobalArgs) -> Check {
    let has_default_file = std::path::Path::new("superstep.toml").is_file();
    match (&global.config, has_default_file) {
        (Some(_), _) => check("settings", Health::Good, "file given with `--config`"),
        (None, true) => check("settings", Health::Good, "superstep.toml"),
        (None, false) => check("settings", Health::Note, "no superstep.toml; using defaults"),
    }
}

fn port(settings: &Settings) -> Check {
    let (host, port) = (&settings.server.host, settings.server.port);
    match TcpListener::bind((host.trim_matches(['[', ']']), port)) {
        Ok(_) => check("port", Health::Good, format!("{port} is free")),
        Err(error) => {
            let help = "`superstep serve --port 0` picks a free port";
            check("port", Health::Note, format!("cannot listen on {port} ({}); {help}", error.kind()))
        }
    }
}

fn checkpointer(config: &CliConfig) -> Check {
    let kind = match &config.settings.storage.checkpointer {
        CheckpointerSettings::Sqlite(path) if path.as_os_str() == DEFAULT_CHECKPOINTER_PATH && !path.exists() => {
            return check("store", Health::Good, format!("{DEFAULT_CHECKPOINTER_PATH}, created by the first run"));
        }
        CheckpointerSettings::Sqlite(_) => "sqlite",
        CheckpointerSettings::Postgres(_) if config.is_offline => {
            return check("store", Health::Note, "postgres, not checked because of `--offline`");
        }
        CheckpointerSettings::Postgres(_) => "postgres",
        _ => return check("store", Health::Note, "memory: threads are lost when the process ends"),
    };
    let result = block_on(async {
        let storage = Storage::open(&config.settings.storage.checkpointer).await?;
        storage.store.put(["superstep", "doctor"], "look", json!({ "is": "here" })).await?;
        storage.store.delete(["superstep", "doctor"], "look").await?;
        Ok(())
    });
    match result {
        Ok(()) => check("store", Health::Good, format!("{kind} is readable and writable")),
        // The full error may contain the address of a database.
        Err(failure) => check("store", Health::Broken, format!("{kind}: {}", failure.code_text())),
    }
}

fn graphs(config: &CliConfig) -> Vec<Check> {
    let names = match graphs::names(config) {
        Ok(names) => names,
        Err(failure) => return vec![failed_check("graphs", "", &failure)],
    };
    if names.is_empty() {
        return vec![check("graphs", Health::Note, "none; add one to superstep.toml")];
    }
    let checks = names.iter().map(|name| match graphs::find(config, name) {
        Ok(_) => check("graph", Health::Good, name.as_str()),
        Err(failure) => failed_check("graph", &format!("{name}: "), &failure),
    });
    checks.collect()
}

fn models(config: &CliConfig) -> Vec<Check> {
    let models = config.settings.models.iter();
    let checks = models.map(|(name, settings)| {
        let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
        let (health, message) = match key_variable(settings).filter(|_| settings.api_key.is_none()) {
            // The reason is left out because it may contain a path.
            None if settings.provider == LOCAL_WEIGHTS_PROVIDER => match build_model(config, name, settings) {
                Ok(_) => (Health::Good, "weights file found".to_owned()),
                Err(_) => (
                    Health::Note,
                    "not available: the file is missing, or this build does not support weights".to_owned(),
                ),
            },
            Some(variable) if !is_set(variable) => (Health::Note, format!("no key: {variable} is not set")),
            Some(variable) => (Health::Good, format!("key in {variable}")),
            None if settings.api_key.is_some() => (Health::Good, "key in the settings".to_owned()),
            None if is_remote(settings) => (Health::Good, "used without a key".to_owned()),
            None => (Health::Good, "needs no key".to_owned()),
        };
        check("model", health, format!("{name} ({}): {message}", settings.provider))
    });
    checks.collect()
}
