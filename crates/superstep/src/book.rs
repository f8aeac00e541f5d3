//! The pages of the book as doc tests: every Rust example in them compiles and runs.

macro_rules! pages {
    ($($name:ident $path:literal;)*) => {$(
        #[doc = include_str!(concat!("../../../book/src/", $path))]
        mod $name {}
    )*};
}

pages! {
    start "start.md";
    state "guides/state.md";
    graphs "guides/graphs.md";
    graph_files "guides/graph-files.md";
    people "guides/people.md";
    streaming "guides/streaming.md";
    tools "guides/tools.md";
    redaction "guides/redaction.md";
    agents "guides/agents.md";
    teams "guides/teams.md";
    threads "guides/threads.md";
    moving "guides/moving.md";
    bring_your_threads "guides/langgraph.md";
    stores "guides/stores.md";
    migrations "guides/migrations.md";
    retention "guides/retention.md";
    memory "guides/memory.md";
    models "guides/models.md";
    providers "guides/providers.md";
    mcp "guides/mcp.md";
    failures "guides/failures.md";
    subgraphs "guides/subgraphs.md";
    server "guides/server.md";
    tracing "guides/tracing.md";
    testing "guides/testing.md";
    supersteps "concepts/supersteps.md";
    durability "concepts/durability.md";
    langgraph "concepts/langgraph.md";
    promises "promises.md";
    settings "settings.md";
    performance "performance.md";
    comparison "comparison.md";
}
