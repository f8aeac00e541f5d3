use superstep::State;

#[derive(State, Clone)]
enum Choice {
    Yes,
    No,
}

#[derive(State, Clone)]
struct Pair(u8, u8);

#[derive(State, Clone)]
struct Wrapper<T> {
    value: T,
}

#[derive(State)]
struct NotClone {
    value: u8,
}

fn main() {}
