//! Answers piece by piece, outside of graphs.

use superstep::model::{Answer, Model, ModelExt, ModelInfo, Piece, Pieces, Reply, Request, Scripted, Trouble};
use superstep::testing::ManualClock;
use superstep::{Error, Result};

use super::Remote;

fn text(piece: Option<Result<Piece>>) -> Option<String> {
    match piece {
        Some(Ok(Piece::Text(text))) => Some(text),
        _ => None,
    }
}

/// R-FWK-69: a stream gives every piece and then the answer they make.
#[tokio::test]
async fn a_stream_gives_pieces_and_then_the_answer() {
    let long = "word ".repeat(200);
    let mut stream = Scripted::new([long.as_str()]).stream("Talk.");
    let mut said = String::new();
    while let Some(piece) = text(stream.next().await) {
        said.push_str(&piece);
    }
    assert_eq!(said, long);
    assert!(stream.next().await.is_none());
    assert_eq!(stream.finish().await.unwrap().message.text(), long);

    let half_read = {
        let mut stream = Scripted::new([long.as_str()]).share().stream("Talk.");
        stream.next().await;
        stream
    };
    assert_eq!(half_read.finish().await.unwrap().message.text(), long);
}

/// R-FWK-69, R-FWK-71: an error comes after the pieces before it, once, and is the result.
#[tokio::test]
async fn an_error_is_the_last_thing_a_stream_says() {
    let mut stream = Scripted::new([Reply::text("It is").breaking_off(Trouble::BrokenOff)]).stream("How late?");
    assert_eq!(text(stream.next().await).as_deref(), Some("It "));
    assert_eq!(text(stream.next().await).as_deref(), Some("is"));
    let told: Error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(Trouble::of(&told), Some(Trouble::BrokenOff));
    assert!(stream.next().await.is_none());
    assert_eq!(Trouble::of(&stream.finish().await.unwrap_err()), Some(Trouble::BrokenOff));
}

/// A model that says a word, waits, and says another.
#[derive(Clone)]
struct Slow(ManualClock);

impl Model for Slow {
    fn info(&self) -> ModelInfo {
        Remote("slow", Scripted::default()).info()
    }

    async fn answer(&self, _: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        use superstep::core::port::Clock;
        out.text("one ").await;
        self.0.sleep(std::time::Duration::from_secs(1)).await;
        out.text("two").await;
        Ok(Answer::new(superstep::Message::assistant("one two"), self.info()))
    }
}

/// R-FWK-69: a piece is there before the rest of the answer is, and dropping the stream ends the call.
#[tokio::test]
async fn a_piece_is_there_before_the_rest() {
    let clock = ManualClock::new();
    let mut stream = Slow(clock.clone()).stream("Talk.");
    assert_eq!(clock.sleepers(), 0, "nothing happens before somebody looks");
    assert_eq!(text(stream.next().await).as_deref(), Some("one "));
    assert_eq!(clock.sleepers(), 1);
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(text(stream.next().await).as_deref(), Some("two"));
    assert_eq!(stream.finish().await.unwrap().message.text(), "one two");

    let mut dropped = Slow(clock.clone()).stream("Talk.");
    dropped.next().await;
    drop(dropped);
    assert_eq!(clock.sleepers(), 0);
}
