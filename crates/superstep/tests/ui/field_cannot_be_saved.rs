use superstep::GraphState;

#[derive(Clone, Default)]
struct Connection;

#[derive(Clone)]
struct NoDefault;

#[derive(GraphState, Clone)]
struct Chat {
    connection: Connection,
    many: Vec<Connection>,
    #[state(untracked)]
    handle: NoDefault,
}

fn main() {}
