//! One task for each page: typed sends run side by side, and a reducer folds what they find in a fixed order.

use std::collections::BTreeMap;

use superstep::prelude::*;

#[derive(State, Clone, Serialize, Deserialize)]
struct Search {
    word: String,
    pages: Vec<String>,
    #[reduce(merge)]
    found: BTreeMap<usize, usize>,
    #[reduce(add)]
    total: usize,
    best: Option<usize>,
}

/// What one task is given in place of the whole state.
#[derive(Clone, Serialize, Deserialize)]
struct Page {
    number: usize,
    text: String,
}

async fn count(search: View<Search>, page: Sent<Page>) -> SearchUpdate {
    let hits = page.text.matches(&search.word).count();
    Search::update().found((page.number, hits)).total(hits)
}

/// Runs once, after all tasks of `count`.
async fn best(search: View<Search>) -> SearchUpdate {
    let best = search.found.iter().max_by_key(|(_, hits)| **hits);
    Search::update().best(best.map(|(number, _)| *number))
}

fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Search>::new("search");
    let count = graph.node("count", count);
    let best = graph.node("best", best);
    graph.entry_by(
        move |search: &Search| {
            let pages = search.pages.iter().cloned().enumerate();
            pages.map(|(number, text)| Send::new(count, Page { number, text })).collect::<Vec<_>>()
        },
        [count],
    );
    graph.edge(count, best).edge(best, END);

    let pages = ["the sea, the sand", "a shell", "the tide"].map(str::to_owned).to_vec();
    let done = graph.compile()?.run(Search::input().word("the").pages(pages)).wait()?;
    let search = done.state;
    println!("{} in {} supersteps: {:?}, best page {:?}", search.total, done.supersteps, search.found, search.best);
    Ok(())
}
