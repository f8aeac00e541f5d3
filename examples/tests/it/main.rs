//! Snapshot tests of the example programs: each runs offline and prints the recorded output.

use std::process::Command;

/// Returns the output of a program.
fn run_program(program: &str) -> String {
    let output = Command::new(program).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

/// Declares a test for each program.
macro_rules! programs {
    ($($test:ident $program:literal)*) => {
        const PROGRAMS: &[&str] = &[$($program),*];
        $(
            /// R-NFR-15: the program runs without network or API key and prints the recorded output.
            #[test]
            fn $test() {
                let output = run_program(env!(concat!("CARGO_BIN_EXE_", $program)));
                insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                    insta::assert_snapshot!($program, output);
                });
            }
        )*
    };
}

programs! {
    story "01_story"
    a_loop "02_loop"
    fan_out "03_fan_out"
    functional "04_functional"
    time_travel "05_time_travel"
    approval "06_approval"
    subgraph "07_subgraph"
    streaming "08_streaming"
    memory "09_memory"
    agent "10_agent"
    graph_file "11_graph_file"
    team "12_team"
}

/// R-NFR-15: each program is tested, has a number and a description, and is shorter than 60 lines.
#[test]
fn each_program_is_short_and_tested() {
    let folder = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().map(|entry| entry.unwrap().path());
    let mut names = Vec::new();
    for path in folder.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() < 60, "{path:?}");
        assert!(text.starts_with("//! "), "{path:?}");
        names.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, PROGRAMS);
    for (number, name) in names.iter().enumerate() {
        assert!(name.starts_with(&format!("{:02}_", number + 1)), "{name}");
    }
}
