//! Asking again, and asking another.

use std::time::Duration;

use superstep::model::{Model, ModelExt, Pieces, Reply, Scripted, SharedModel, StopReason, Trouble};
use superstep::testing::ManualClock;
use superstep::{Code, Error, Retry};

use super::{Remote, Waits, heard};

fn plain(attempts: u32) -> Retry {
    Retry::exponential(attempts).without_jitter()
}

fn limited(seconds: u64) -> Reply {
    let model = Scripted::default().info();
    Trouble::RateLimited.error(&model, "too many").retry_after(Duration::from_secs(seconds)).into()
}

/// R-FWK-71: what may pass is asked again, after the policy's wait or the provider's, whichever is longer, up to the longest.
#[tokio::test]
async fn a_model_is_asked_again_after_the_longer_wait() {
    let rows = [
        (vec![Trouble::Overloaded.into(), Trouble::NoNetwork.into()], vec![500, 1_000]),
        (vec![limited(7), Trouble::BadAnswer.into()], vec![7_000, 1_000]),
        (vec![limited(0), limited(3_600)], vec![500, 30_000]),
    ];
    for (replies, waited) in rows {
        let (script, clock) = (Scripted::new(replies).then("Noon."), Waits::default());
        let model = script.clone().retrying(plain(3)).longest_wait(Duration::from_secs(30)).clock(clock.clone());
        assert_eq!(model.complete("How late?").await.unwrap().message.text(), "Noon.");
        assert_eq!((clock.millis(), script.left()), (waited, 0));
    }
}

/// R-FWK-71: what does not pass, and what failed too often, is told as it is.
#[tokio::test]
async fn a_model_is_not_asked_again_in_vain() {
    for trouble in [Trouble::KeyRefused, Trouble::ContentRefused, Trouble::ContextTooLong, Trouble::BadRequest] {
        let (script, clock) = (Scripted::new([trouble]).then("Noon."), Waits::default());
        let error = script.clone().retrying(plain(3)).clock(clock.clone()).complete("How late?").await.unwrap_err();
        assert_eq!((Trouble::of(&error), script.requests().len()), (Some(trouble), 1));
        assert_eq!(clock.millis(), Vec::<u128>::new());
    }
    let script = Scripted::new([Trouble::Overloaded; 3]);
    let error = script.clone().retrying(plain(2)).clock(Waits::default()).complete("How late?").await.unwrap_err();
    assert_eq!((Trouble::of(&error), script.requests().len()), (Some(Trouble::Overloaded), 2));
}

/// R-FWK-71: the wait is on the clock that was given.
#[tokio::test]
async fn a_wait_follows_the_clock() {
    let (script, clock) = (Scripted::new([Trouble::Overloaded]).then("Noon."), ManualClock::new());
    let model: SharedModel = script.clone().retrying(plain(2)).clock(clock.clone()).share();
    let asked = tokio::spawn(async move { model.complete("How late?").await });
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_millis(499));
    crate::engine::settle().await;
    assert_eq!((asked.is_finished(), script.requests().len()), (false, 1));
    clock.advance(Duration::from_millis(1));
    assert_eq!(asked.await.unwrap().unwrap().message.text(), "Noon.");
}

/// R-FWK-71, R-FWK-72: once a piece was heard nobody is asked again: pieces cannot be taken back. Unheard ones can.
#[tokio::test]
async fn what_was_heard_is_not_said_again() {
    let half = || Reply::text("It is").breaking_off(Trouble::BrokenOff);
    let again = || Scripted::new([half(), "It is noon.".into()]);
    let retrying = || again().retrying(plain(3)).clock(Waits::default());
    let falling = || Scripted::new([half()]).or(Scripted::new(["It is noon."]));

    let (ear, answer) = heard(retrying(), "How late?").await;
    assert_eq!((ear.texts().concat(), Trouble::of(&answer.unwrap_err())), ("It is".into(), Some(Trouble::BrokenOff)));
    let (ear, answer) = heard(falling(), "How late?").await;
    assert_eq!((ear.texts().concat(), Trouble::of(&answer.unwrap_err())), ("It is".into(), Some(Trouble::BrokenOff)));

    assert_eq!(retrying().complete("How late?").await.unwrap().message.text(), "It is noon.");
    assert_eq!(falling().complete("How late?").await.unwrap().message.text(), "It is noon.");
}

/// R-FWK-72, R-FWK-75: the next model answers what another may survive, and the answer says who gave it.
#[tokio::test]
async fn the_next_model_answers_in_its_own_name() {
    let survived = [
        Trouble::NoKey,
        Trouble::KeyRefused,
        Trouble::RateLimited,
        Trouble::Overloaded,
        Trouble::NoSuchModel,
        Trouble::BadAnswer,
        Trouble::BrokenOff,
        Trouble::NoNetwork,
        Trouble::TooSlow,
    ];
    for trouble in survived {
        let first = Remote("large", Scripted::new([trouble]));
        let (ear, answer) = heard(first.or(Scripted::new(["By rules."]).named("spare")), "How late?").await;
        let answer = answer.unwrap();
        assert_eq!(answer.model.to_string(), "scripted/spare (rules)", "{trouble}");
        assert_eq!((ear.texts().concat(), &answer.stop), ("By rules.".to_owned(), &StopReason::End));
    }
    let model = Remote("large", Scripted::new(["Noon."])).or(Scripted::default());
    assert_eq!(model.info().name.as_ref(), "large");
    assert_eq!(model.complete("How late?").await.unwrap().model.to_string(), "test/large (remote)");
}

/// R-FWK-72: refused content and too many words go to the next model only where that is asked for.
#[tokio::test]
async fn a_refusal_is_not_carried_to_another_unless_asked() {
    for trouble in [Trouble::ContentRefused, Trouble::ContextTooLong, Trouble::BadRequest, Trouble::OverBudget] {
        let second = Scripted::new(["Noon."]);
        let model = Scripted::new([trouble, trouble]).or(second.clone());
        assert_eq!(Trouble::of(&model.complete("How late?").await.unwrap_err()), Some(trouble));
        assert_eq!(second.requests().len(), 0);
        assert_eq!(model.also_on(trouble).complete("How late?").await.unwrap().message.text(), "Noon.");
    }
    // A mistake of the program is not hidden by another model.
    let used_up = Scripted::default().or(Scripted::new(["Noon."])).complete("How late?").await.unwrap_err();
    assert_eq!(used_up.code(), Code::ConfigInvalid);
}

/// R-FWK-72: when all fail the error is the last one's, lists what each said, and passes when one of them may.
#[tokio::test]
async fn when_all_fail_each_has_its_say() {
    let (a, b) = (Remote("a", Scripted::default()).info(), Remote("b", Scripted::default()).info());
    let limited = Trouble::RateLimited.error(&a, "too many").retry_after(Duration::from_secs(9));
    let first = Remote("a", Scripted::new([limited]));
    let second = Remote("b", Scripted::new([Trouble::KeyRefused.error(&b, "refused")]));
    let error = first.or(second).complete("How late?").await.unwrap_err();
    assert_eq!((error.code(), Trouble::of(&error)), (Code::ModelAuth, Some(Trouble::KeyRefused)));
    assert_eq!((error.is_retryable(), error.wait()), (true, Some(Duration::from_secs(9))));
    insta::assert_snapshot!(error, @"
    error[SS-022]: none of the 2 models that were asked answered
      - model `test/a`: too many (wait as long as the provider asks, or ask for a higher limit)
      - model `test/b`: refused (the provider does not know the key: make a new one, or set the right one)
    ");

    let (first, second) = (Scripted::new([Trouble::NoKey]), Scripted::new([Trouble::NoKey]));
    let third = Scripted::new([Error::new(Code::ModelUnavailable, "gone")]);
    let error = first.or(second).or(third).complete("How late?").await.unwrap_err();
    assert_eq!((error.problems().len(), error.code()), (3, Code::ModelUnavailable));
    assert_eq!(error.problems()[2].message, "model `scripted/script`: gone");
}

/// R-FWK-69: shared models and models of every type are wrapped alike, one around the other.
#[tokio::test]
async fn wrappers_nest() {
    let script = Scripted::new([Trouble::Overloaded; 2]).then("Noon.");
    let shared: SharedModel = script.clone().share();
    let model = shared.retrying(plain(2)).clock(Waits::default()).or(script.clone()).share();
    let answer = model.answer(&"How late?".into(), &mut Pieces::unheard()).await.unwrap();
    assert_eq!((answer.message.text().into_owned(), script.requests().len()), ("Noon.".to_owned(), 3));
}
