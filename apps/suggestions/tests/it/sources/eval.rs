//! Evaluation on the sample.

use superstep_documents::Documents;
use superstep_suggestions::eval::eval;

/// R-SUG-43, R-SUG-42: of 40 documents the expected one is among the first three for at least 20 of 25 questions;
/// expansion improves the rank of at least five questions and worsens none.
#[tokio::test]
async fn the_right_document_is_found_for_most_questions() {
    let (folder, sources, _) = super::sample().await;
    let documents = Documents::open(&folder.path().join("docs")).unwrap();
    assert_eq!((documents.documents(), documents.skipped()), (40, Vec::new()));
    let score = eval(&sources).await.unwrap();
    assert_eq!(score.total, 25);
    assert!(score.correct >= 20, "{score:#?}");
    assert!(score.improved >= 5 && score.regressed == 0, "{score:#?}");
    assert!(score.correct > score.baseline_correct, "{score:#?}");
}
