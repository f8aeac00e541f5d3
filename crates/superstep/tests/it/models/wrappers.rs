//! Retries and fallbacks of model calls.

use std::time::Duration;

use superstep::models::{
    ChunkSender, Model, ModelErrorKind, ModelExt, ScriptedModel, ScriptedReply, SharedModel, StopReason,
};
use superstep::testing::ManualClock;
use superstep::{Error, ErrorCode, RetryPolicy};

use super::{RecordingClock, RemoteScriptedModel, call_with_listener};

fn plain(attempts: u32) -> RetryPolicy {
    RetryPolicy::exponential(attempts).without_jitter()
}

fn limited(seconds: u64) -> ScriptedReply {
    let model = ScriptedModel::default().info();
    ModelErrorKind::RateLimited.error(&model, "too many").with_retry_after(Duration::from_secs(seconds)).into()
}

/// R-FWK-71: a transient error is retried after the delay of the policy or of the provider, whichever is longer, up
/// to the maximum.
#[tokio::test]
async fn a_model_is_retried_after_the_longer_wait() {
    let rows = [
        (vec![ModelErrorKind::Overloaded.into(), ModelErrorKind::Connection.into()], vec![500, 1_000]),
        (vec![limited(7), ModelErrorKind::InvalidResponse.into()], vec![7_000, 1_000]),
        (vec![limited(0), limited(3_600)], vec![500, 30_000]),
    ];
    for (replies, waited) in rows {
        let (script, clock) = (ScriptedModel::new(replies).then("Noon."), RecordingClock::default());
        let model = script.clone().with_retry(plain(3)).max_interval(Duration::from_secs(30)).clock(clock.clone());
        assert_eq!(model.complete("How late?").await.unwrap().message.text(), "Noon.");
        assert_eq!((clock.millis(), script.remaining()), (waited, 0));
    }
}

/// R-FWK-71: a permanent error, and one after too many attempts, is returned unchanged.
#[tokio::test]
async fn a_model_is_not_retried_in_vain() {
    for kind in [
        ModelErrorKind::InvalidApiKey,
        ModelErrorKind::ContentFiltered,
        ModelErrorKind::ContextLengthExceeded,
        ModelErrorKind::BadRequest,
    ] {
        let (script, clock) = (ScriptedModel::new([kind]).then("Noon."), RecordingClock::default());
        let error = script.clone().with_retry(plain(3)).clock(clock.clone()).complete("How late?").await.unwrap_err();
        assert_eq!((ModelErrorKind::from_error(&error), script.requests().len()), (Some(kind), 1));
        assert_eq!(clock.millis(), Vec::<u128>::new());
    }
    let script = ScriptedModel::new([ModelErrorKind::Overloaded; 3]);
    let error =
        script.clone().with_retry(plain(2)).clock(RecordingClock::default()).complete("How late?").await.unwrap_err();
    assert_eq!((ModelErrorKind::from_error(&error), script.requests().len()), (Some(ModelErrorKind::Overloaded), 2));
}

/// R-FWK-71: the delay uses the configured clock.
#[tokio::test]
async fn a_wait_follows_the_clock() {
    let (script, clock) = (ScriptedModel::new([ModelErrorKind::Overloaded]).then("Noon."), ManualClock::new());
    let model: SharedModel = script.clone().with_retry(plain(2)).clock(clock.clone()).share();
    let call = tokio::spawn(async move { model.complete("How late?").await });
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_millis(499));
    crate::fixtures::settle().await;
    assert_eq!((call.is_finished(), script.requests().len()), (false, 1));
    clock.advance(Duration::from_millis(1));
    assert_eq!(call.await.unwrap().unwrap().message.text(), "Noon.");
}

/// R-FWK-71, R-FWK-72: once a chunk was delivered the call is not retried, because chunks cannot be withdrawn;
/// without a listener it is.
#[tokio::test]
async fn a_response_is_not_retried_after_a_published_chunk() {
    let half = || ScriptedReply::text("It is").then_error(ModelErrorKind::StreamInterrupted);
    let flaky = || ScriptedModel::new([half(), "It is noon.".into()]);
    let retrying = || flaky().with_retry(plain(3)).clock(RecordingClock::default());
    let falling = || ScriptedModel::new([half()]).with_fallback(ScriptedModel::new(["It is noon."]));

    let (listener, answer) = call_with_listener(retrying(), "How late?").await;
    assert_eq!(
        (listener.texts().concat(), ModelErrorKind::from_error(&answer.unwrap_err())),
        ("It is".into(), Some(ModelErrorKind::StreamInterrupted))
    );
    let (listener, answer) = call_with_listener(falling(), "How late?").await;
    assert_eq!(
        (listener.texts().concat(), ModelErrorKind::from_error(&answer.unwrap_err())),
        ("It is".into(), Some(ModelErrorKind::StreamInterrupted))
    );

    assert_eq!(retrying().complete("How late?").await.unwrap().message.text(), "It is noon.");
    assert_eq!(falling().complete("How late?").await.unwrap().message.text(), "It is noon.");
}

/// R-FWK-72, R-FWK-75: the next model responds after errors that another model may avoid, and the response names its
/// model.
#[tokio::test]
async fn the_next_model_answers_in_its_own_name() {
    let survived = [
        ModelErrorKind::MissingApiKey,
        ModelErrorKind::InvalidApiKey,
        ModelErrorKind::RateLimited,
        ModelErrorKind::Overloaded,
        ModelErrorKind::ModelNotFound,
        ModelErrorKind::InvalidResponse,
        ModelErrorKind::StreamInterrupted,
        ModelErrorKind::Connection,
        ModelErrorKind::Timeout,
    ];
    for kind in survived {
        let first = RemoteScriptedModel("large", ScriptedModel::new([kind]));
        let (listener, answer) =
            call_with_listener(first.with_fallback(ScriptedModel::new(["By rules."]).with_name("spare")), "How late?")
                .await;
        let answer = answer.unwrap();
        assert_eq!(answer.model.to_string(), "scripted/spare (rules)", "{kind}");
        assert_eq!((listener.texts().concat(), &answer.stop), ("By rules.".to_owned(), &StopReason::End));
    }
    let model = RemoteScriptedModel("large", ScriptedModel::new(["Noon."])).with_fallback(ScriptedModel::default());
    assert_eq!(model.info().name.as_ref(), "large");
    assert_eq!(model.complete("How late?").await.unwrap().model.to_string(), "test/large (remote)");
}

/// R-FWK-72: rejected content and too long requests go to the next model only on request.
#[tokio::test]
async fn rejections_use_the_fallback_only_on_request() {
    for kind in [
        ModelErrorKind::ContentFiltered,
        ModelErrorKind::ContextLengthExceeded,
        ModelErrorKind::BadRequest,
        ModelErrorKind::BudgetExceeded,
    ] {
        let second = ScriptedModel::new(["Noon."]);
        let model = ScriptedModel::new([kind, kind]).with_fallback(second.clone());
        assert_eq!(ModelErrorKind::from_error(&model.complete("How late?").await.unwrap_err()), Some(kind));
        assert_eq!(second.requests().len(), 0);
        assert_eq!(model.fallback_on(kind).complete("How late?").await.unwrap().message.text(), "Noon.");
    }
    // An error of the application is not hidden by another model.
    let used_up =
        ScriptedModel::default().with_fallback(ScriptedModel::new(["Noon."])).complete("How late?").await.unwrap_err();
    assert_eq!(used_up.code(), ErrorCode::ConfigInvalid);
}

/// R-FWK-72: if all models fail, the error has the code of the last one, lists the error of each, and is retryable if
/// one of them is.
#[tokio::test]
async fn when_all_fail_each_error_is_listed() {
    let (a, b) = (
        RemoteScriptedModel("a", ScriptedModel::default()).info(),
        RemoteScriptedModel("b", ScriptedModel::default()).info(),
    );
    let limited = ModelErrorKind::RateLimited.error(&a, "too many").with_retry_after(Duration::from_secs(9));
    let first = RemoteScriptedModel("a", ScriptedModel::new([limited]));
    let second = RemoteScriptedModel("b", ScriptedModel::new([ModelErrorKind::InvalidApiKey.error(&b, "refused")]));
    let error = first.with_fallback(second).complete("How late?").await.unwrap_err();
    assert_eq!(
        (error.code(), ModelErrorKind::from_error(&error)),
        (ErrorCode::ModelAuth, Some(ModelErrorKind::InvalidApiKey))
    );
    assert_eq!((error.is_retryable(), error.retry_after()), (true, Some(Duration::from_secs(9))));
    insta::assert_snapshot!(error, @"
    error[SS-022]: all 2 models failed
      - model `test/a`: too many (wait as long as the provider requests, or request a higher limit)
      - model `test/b`: refused (the provider rejected the API key; check it, or create a new one)
    ");

    let (first, second) =
        (ScriptedModel::new([ModelErrorKind::MissingApiKey]), ScriptedModel::new([ModelErrorKind::MissingApiKey]));
    let third = ScriptedModel::new([Error::new(ErrorCode::ModelUnavailable, "gone")]);
    let error = first.with_fallback(second).fallback_to(third).complete("How late?").await.unwrap_err();
    assert_eq!((error.diagnostics().len(), error.code()), (3, ErrorCode::ModelUnavailable));
    assert_eq!(error.diagnostics()[2].message, "model `scripted/script`: gone");
}

/// R-FWK-69: shared models and models of every type are wrapped equally, and wrappers nest.
#[tokio::test]
async fn wrappers_nest() {
    let script = ScriptedModel::new([ModelErrorKind::Overloaded; 2]).then("Noon.");
    let shared: SharedModel = script.clone().share();
    let model = shared.with_retry(plain(2)).clock(RecordingClock::default()).with_fallback(script.clone()).share();
    let answer = model.generate(&"How late?".into(), &mut ChunkSender::discard()).await.unwrap();
    assert_eq!((answer.message.text().into_owned(), script.requests().len()), ("Noon.".to_owned(), 3));
}
