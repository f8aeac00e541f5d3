//! Tests of completions, man pages and error explanations.

use superstep::ErrorCode;

use crate::support::Folder;

/// R-CLI-6a, R-CLI-14: the completion script of every shell contains every command.
#[test]
fn completions_contain_all_commands() {
    let folder = Folder::empty("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&["completions", shell]).stdout;
        for command in ["demo", "run", "resume", "threads", "history", "explain", "doctor"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(!script.contains("Write man pages"), "{shell}");
        let has_names = script.contains("superstep __names");
        assert_eq!(has_names, ["bash", "zsh", "fish"].contains(&shell), "{shell}");
    }
}

/// R-CLI-14: the bash script works in bash, and completes names of graphs.
#[test]
fn bash_completes_commands_and_live_names() {
    let folder = Folder::new("bash");
    folder.write("complete.bash", &folder.run(&["completions", "bash"]).stdout);
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_superstep")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let complete = |args: &str| {
        let script = format!(
            "source complete.bash; COMP_WORDS=({args}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _superstep_names superstep \"${{COMP_WORDS[-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = std::process::Command::new("bash")
            .args(["--norc", "-c", &script])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output();
        String::from_utf8(bash.expect("bash is installed").stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("superstep run t"), "talk titles");
    assert_eq!(complete("superstep resu"), "resume");
}

/// R-CLI-14: names for completion, and no output if there are none.
#[test]
fn names_of_graphs_threads_and_codes_are_listed_live() {
    let folder = Folder::new("live-names");
    assert!(folder.run(&["__names", "graphs"]).stdout.ends_with("review\nscheduler\nsuggestions\ntalk\ntitles\n"));
    assert_eq!(folder.run(&["__names", "threads"]).stdout, "");
    folder.run(&["run", "titles", "--thread", "t1", "--input", r#"{"text":"a"}"#]);
    assert_eq!(folder.run(&["__names", "threads"]).stdout, "t1\n");
    folder.write("superstep.toml", "nonsense");
    let silent = folder.run(&["__names", "graphs"]);
    assert_eq!((silent.code, silent.stdout.as_str(), silent.stderr.as_str()), (0, "", ""));
}

/// R-CLI-14: a man page for each command.
#[test]
fn man_pages_are_written() {
    let folder = Folder::empty("man");
    assert_eq!(folder.run(&["man", "pages"]).code, 0);
    let page = std::fs::read_to_string(folder.path().join("pages/superstep-run.1")).unwrap();
    assert!(page.contains(".TH superstep-run 1"), "{page}");
    assert!(folder.path().join("pages/superstep.1").is_file());
}

/// R-CLI-10: every code has a page in the binary, found by code, number and name.
#[test]
fn every_code_is_explained() {
    let folder = Folder::empty("explain");
    for code in ErrorCode::ALL {
        let output = folder.run(&["explain", &code.to_string()]);
        assert!(output.code == 0 && output.stdout.starts_with(&code.to_string()), "{code}: {}", output.stderr);
        assert!(output.stdout.contains("What to do"), "{code}");
    }
    let page = folder.run(&["explain", "SS-007"]).stdout;
    for argument in ["7", "ss-007", "ConcurrentUpdate", "ss7"] {
        assert_eq!(folder.run(&["explain", argument]).stdout, page, "{argument}");
    }
    assert_eq!(folder.run(&["explain", "--list"]).stdout.lines().count(), ErrorCode::ALL.len());
}
