//! Local mirror of Microsoft 365.

use superstep_suggestions::sources::{M365Settings, SourceSettings, Sources};
use superstep_suggestions::types::{M365Source, McpSuggestion};

use super::Folder;

fn urls_of(suggestions: &[McpSuggestion], source: M365Source) -> Vec<&str> {
    suggestions
        .iter()
        .filter(|suggestion| suggestion.source == Some(source))
        .map(|suggestion| suggestion.url.as_str())
        .collect()
}

/// R-SUG-18: the path of a file determines its source, mail is mail; all have excerpts.
#[tokio::test]
async fn files_and_mail_are_returned_with_their_source() {
    let (_folder, sources, _) = super::sample().await;
    let results = sources.search_m365("AKS rollback helm", None).await.unwrap();
    assert!(
        urls_of(&results, M365Source::Onedrive).contains(&"m365/onedrive/anke-brouwer/rollback-drill-notes.md"),
        "{results:#?}"
    );
    let shared = urls_of(&results, M365Source::Sharepoint);
    assert!(shared.contains(&"m365/sharepoint/platform/runbooks/failed-aks-rollout.md"), "{shared:?}");
    let mail = urls_of(&results, M365Source::Email);
    assert!(mail.contains(&"m365/mail/01-rollback-booking-api.eml"), "{mail:?}");
    assert!(mail.iter().any(|url| url.starts_with("m365/mail/archive.mbox?message=")), "{mail:?}");
    assert!(results.len() <= 20 && results.iter().all(|suggestion| suggestion.description.chars().count() <= 300));
}

/// R-SUG-18: multipart mail, encoded subjects, quoted-printable and base64 are decoded.
#[tokio::test]
async fn mail_is_read_however_it_is_encoded() {
    let (_folder, sources, _) = super::sample().await;
    for (query, url) in [
        ("lifted the deploy freeze", "m365/mail/02-re-rollback-booking-api.eml"),
        ("Urlaub Rufbereitschaft", "m365/mail/03-urlaub-und-rufbereitschaft.eml"),
        ("Authenticator security keys text messages", "m365/mail/05-new-mfa-rules.eml"),
        ("readiness never passes, quota, no room on nodes", "m365/mail/archive.mbox?message=1"),
    ] {
        let results = sources.search_m365(query, None).await.unwrap();
        let mail = urls_of(&results, M365Source::Email);
        assert_eq!(mail.first(), Some(&url), "{query}: {mail:?}");
    }
    assert!(sources.skipped().iter().all(|skipped| !skipped.contains(".eml")), "{:?}", sources.skipped());
}

/// R-SUG-18: added and deleted mail and files are picked up; invalid mail is reported.
#[tokio::test]
async fn the_mirror_is_followed() {
    let folder = Folder::new();
    let mail = |subject: &str| format!("From: a@b.example\r\nSubject: {subject}\r\n\r\nHello there.\r\n");
    folder.write("m365/mail/one.eml", &mail("Marmalade"));
    folder.write("m365/mail/empty.eml", "");
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    assert_eq!(sources.search_m365("marmalade", None).await.unwrap()[0].title, "Marmalade");
    assert!(sources.skipped()[0].starts_with("empty.eml:"), "{:?}", sources.skipped());
    folder.write("m365/mail/two.eml", &mail("Butter"));
    std::fs::remove_file(folder.path().join("m365/mail/one.eml")).unwrap();
    sources.refresh().unwrap();
    assert_eq!(sources.search_m365("butter marmalade", None).await.unwrap()[0].title, "Butter");
    folder.write("m365/SharePoint/x.md", "# Jam\n\nmarmalade\n");
    sources.refresh().unwrap();
    let results = sources.search_m365("marmalade", None).await.unwrap();
    assert_eq!((results.len(), results[0].source), (1, Some(M365Source::Sharepoint)));
}

/// R-SUG-18: a mirror without folder and mail is rejected as invalid configuration.
#[test]
fn an_empty_mirror_is_rejected() {
    let settings =
        SourceSettings { m365: M365Settings::Mirror { folder: None, mail: None }, ..SourceSettings::default() };
    assert_eq!(Sources::open(&settings).unwrap_err().code(), superstep::ErrorCode::ConfigInvalid);
}
