use superstep::State;

#[derive(Clone, Default)]
struct Connection;

#[derive(Clone)]
struct NoDefault;

#[derive(State, Clone)]
struct Chat {
    connection: Connection,
    many: Vec<Connection>,
    #[state(untracked)]
    handle: NoDefault,
}

fn main() {}
