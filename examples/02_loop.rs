//! A loop: a conditional edge chooses the next node from the state; the recursion limit ends a loop that would not
//! end.

use superstep::prelude::*;

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct GuessState {
    low: u64,
    high: u64,
    #[reduce(append)]
    guesses: Vec<u64>,
}

const SECRET: u64 = 71;

fn guess(game: View<GuessState>) -> GuessStateUpdate {
    let middle = (game.low + game.high) / 2;
    let update = GuessState::update().guesses(middle);
    if middle < SECRET { update.low(middle + 1) } else { update.high(middle) }
}

fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<GuessState>::new("guess");
    let guess = graph.add_node("guess", guess);
    let next_guess = move |game: &GuessState| if game.low < game.high { Goto::node(guess) } else { Goto::end() };
    graph.add_edge(START, guess).add_conditional_edges(guess, next_guess, [guess.into(), END]);
    let game = graph.compile()?;

    let done = game.invoke(GuessState::input().low(1_u64).high(100_u64)).wait_blocking()?;
    println!("{} after {} supersteps: {:?}", done.state.low, done.supersteps, done.state.guesses);

    let stopped = game.invoke(GuessState::input().low(1_u64).high(100_u64)).recursion_limit(3).wait_blocking();
    println!("{}", stopped.expect_err("three are not enough"));
    println!("{}", game.diagram().to_text());
    Ok(())
}
