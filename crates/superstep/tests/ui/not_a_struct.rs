use superstep::GraphState;

#[derive(GraphState, Clone)]
enum Choice {
    Yes,
    No,
}

#[derive(GraphState, Clone)]
struct Pair(u8, u8);

#[derive(GraphState, Clone)]
struct Wrapper<T> {
    value: T,
}

#[derive(GraphState)]
struct NotClone {
    value: u8,
}

fn main() {}
