//! One task per page: typed sends run in parallel, and a reducer merges their results in a fixed order.

use std::collections::BTreeMap;

use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Search {
    word: String,
    pages: Vec<String>,
    #[reduce(merge)]
    hits_per_page: BTreeMap<usize, usize>,
    #[reduce(add)]
    total: usize,
    best: Option<usize>,
}

/// Input of one task, in place of the whole state.
#[derive(Clone, Serialize, Deserialize)]
struct Page {
    number: usize,
    text: String,
}

async fn count(search: View<Search>, page: SendPayload<Page>) -> SearchUpdate {
    let hits = page.text.matches(&search.word).count();
    Search::update().hits_per_page((page.number, hits)).total(hits)
}

/// Runs once, after all tasks of `count`.
async fn best(search: View<Search>) -> SearchUpdate {
    let best = search.hits_per_page.iter().max_by_key(|(_, hits)| **hits);
    Search::update().best(best.map(|(number, _)| *number))
}

fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Search>::new("search");
    let count = graph.add_node("count", count);
    let best = graph.add_node("best", best);
    graph.set_conditional_entry_point(
        move |search: &Search| {
            let pages = search.pages.iter().cloned().enumerate();
            pages.map(|(number, text)| SendTo::new(count, Page { number, text })).collect::<Vec<_>>()
        },
        [count],
    );
    graph.add_edge(count, best).add_edge(best, END);

    let pages = ["the sea, the sand", "a shell", "the tide"].map(str::to_owned).to_vec();
    let done = graph.compile()?.invoke(Search::input().word("the").pages(pages)).wait_blocking()?;
    let search = done.state;
    println!(
        "{} in {} supersteps: {:?}, best page {:?}",
        search.total, done.supersteps, search.hits_per_page, search.best
    );
    Ok(())
}
