//! A loop: a route looks at the state after each superstep and says where to go; a limit ends what would not end.

use superstep::prelude::*;

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Guess {
    low: u64,
    high: u64,
    #[reduce(append)]
    tried: Vec<u64>,
}

const SECRET: u64 = 71;

fn guess(game: View<Guess>) -> GuessUpdate {
    let middle = (game.low + game.high) / 2;
    let update = Guess::update().tried(middle);
    if middle < SECRET { update.low(middle + 1) } else { update.high(middle) }
}

fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Guess>::new("guess");
    let guess = graph.node("guess", guess);
    let again = move |game: &Guess| if game.low < game.high { Go::to(guess) } else { Go::end() };
    graph.edge(START, guess).route(guess, again, [guess.into(), END]);
    let game = graph.compile()?;

    let done = game.run(Guess::input().low(1_u64).high(100_u64)).wait()?;
    println!("{} after {} supersteps: {:?}", done.state.low, done.supersteps, done.state.tried);

    let stopped = game.run(Guess::input().low(1_u64).high(100_u64)).recursion_limit(3).wait();
    println!("{}", stopped.expect_err("three are not enough"));
    println!("{}", game.drawing().to_text());
    Ok(())
}
