//! Prompt files with a version.

use superstep::core::message::Role;
use superstep::models::Prompt;
use superstep::{Error, ErrorCode, Message};

fn prompt(body: &str) -> Result<Prompt, Error> {
    Prompt::parse(&format!("+++\nname = \"guide\"\nversion = \"1.2\"\n+++\n{body}"))
}

fn rendered(body: &str, values: &[(&str, &str)]) -> String {
    prompt(body).unwrap().render(values).unwrap().text().into_owned()
}

/// R-FWK-77: a prompt becomes a system message with its values, and the request carries its version.
#[test]
fn a_prompt_is_rendered_and_its_version_is_recorded() {
    let guide = prompt("You know {{city}}.\nSay {{ word }} to {{city}}.\n").unwrap();
    assert_eq!(guide.placeholders().into_iter().collect::<Vec<_>>(), ["city", "word"]);
    let request = guide.request(&[("city", "Paris"), ("word", "hi")], [Message::user("Hello")]).unwrap();
    assert_eq!(request.messages[0].text(), "You know Paris.\nSay hi to Paris.");
    assert_eq!((request.messages[0].role, request.messages.len()), (Role::System, 2));
    assert_eq!((request.prompt.as_deref(), guide.label().as_str()), (Some("guide@1.2"), "guide@1.2"));
}

/// R-FWK-77: values are data: a placeholder inside a value is not expanded.
#[test]
fn values_are_never_expanded() {
    let values = [("a", "{{b}}"), ("b", "\\{{a}} and {{c}}")];
    assert_eq!(rendered("{{a}}|{{b}}", &values), "{{b}}|\\{{a}} and {{c}}");
}

/// R-FWK-77: other braces stay; two literal braces are written with a backslash.
#[test]
fn braces_can_be_written() {
    let rows = [
        (r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1}}"#),
        (r"\{{a}} {{a}}", "{{a}} x"),
        ("{ {a} } }}", "{ {a} } }}"),
        ("", ""),
        ("+++\nnot a head", "+++\nnot a head"),
    ];
    for (body, text) in rows {
        let values: &[_] = if body.contains(" {{a}}") { &[("a", "x")] } else { &[] };
        assert_eq!(rendered(body, values), text);
    }
    assert_eq!(prompt("a\r\nb {{x}}\r\n").unwrap().render(&[("x", "c")]).unwrap().text(), "a\nb c");
}

/// R-FWK-77: missing, unknown and duplicate values are rejected, all of them by name.
#[test]
fn values_must_fit() {
    let guide = prompt("{{city}} {{word}}").unwrap();
    let error = guide.render(&[("citi", "Paris"), ("word", "a"), ("word", "b")]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    insta::assert_snapshot!(error, @"
    error[SS-002]: the values do not match the prompt `guide@1.2`
      - unknown placeholder `citi` (did you mean `city`?)
      - duplicate value for `word`
      - `city` has no value
    ");
}

/// R-FWK-77: a prompt without a version, with an unknown key or with an invalid placeholder is rejected.
#[test]
fn an_incomplete_prompt_is_rejected() {
    let rows = [
        ("You know Paris.", "no front matter"),
        ("+++\nname = \"a\"\n+++\nx", "version"),
        ("+++\nversion = \"1\"\n+++\nx", "no name"),
        ("+++\n+++\nx", "version"),
        ("+++\nname = \"a\"\nversion = \"1\"\nauthor = \"b\"\n+++\nx", "author"),
        ("+++\nname = \"a@b\"\nversion = \"1\"\n+++\nx", "`a@b`"),
        ("+++\nname = \"a\"\nversion = \"\"\n+++\nx", "version"),
        ("+++\nname = \"a\"\nversion = \"1\"\n", "no front matter"),
        ("+++\nname = \"a\"\nversion = \"1\"\n+++\nx {{open", "`{{open`"),
        ("+++\nname = \"a\"\nversion = \"1\"\n+++\n{{two words}}", "two words"),
        ("+++\nname = \"a\"\nversion = \"1\"\n+++\n{{}}", "is not a valid placeholder"),
    ];
    for (text, named) in rows {
        let error = Prompt::parse(text).unwrap_err();
        assert!(error.code() == ErrorCode::ConfigInvalid && error.message().contains(named), "{text}\n{error}");
    }
}

/// R-FWK-77: prompts can be read from files; the file name is the default name.
#[test]
fn a_prompt_is_loaded_from_a_file() {
    let folder = super::recording::Folder::new("prompts");
    let path = folder.path("greeter.md");
    std::fs::write(&path, "+++\nversion = \"3\"\n+++\nHello {{name}}.\n").unwrap();
    let greeter = Prompt::load(&path).unwrap();
    assert_eq!(
        (greeter.label().as_str(), greeter.render(&[("name", "Ada")]).unwrap().text().as_ref()),
        ("greeter@3", "Hello Ada.")
    );
    std::fs::write(&path, "Hello").unwrap();
    let error = Prompt::load(&path).unwrap_err();
    assert!(error.message().contains("greeter.md") && error.message().contains("no front matter"), "{error}");
    assert!(Prompt::load(folder.path("none.md")).unwrap_err().message().contains("none.md"));
}
