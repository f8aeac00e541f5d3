//! Doc tests of the book: every Rust example of its pages compiles and runs.

macro_rules! pages {
    ($($name:ident $path:literal;)*) => {$(
        #[doc = include_str!(concat!("../../../book/src/", $path))]
        mod $name {}
    )*};
}

pages! {
    start "getting-started.md";
    state "guides/state.md";
    graphs "guides/graphs.md";
    graph_files "guides/graph-files.md";
    people "guides/human-in-the-loop.md";
    streaming "guides/streaming.md";
    tools "guides/tools.md";
    redaction "guides/redaction.md";
    agents "guides/agents.md";
    teams "guides/multi-agent.md";
    threads "guides/threads.md";
    moving "guides/thread-export.md";
    bring_your_threads "guides/import-langgraph-threads.md";
    stores "guides/stores.md";
    migrations "guides/migrations.md";
    retention "guides/retention.md";
    memory "guides/memory.md";
    models "guides/models.md";
    providers "guides/providers.md";
    mcp "guides/mcp.md";
    failures "guides/error-handling.md";
    subgraphs "guides/subgraphs.md";
    server "guides/server.md";
    tracing "guides/observability.md";
    testing "guides/testing.md";
    supersteps "concepts/supersteps.md";
    durability "concepts/durability.md";
    langgraph "concepts/langgraph.md";
    promises "guarantees.md";
    settings "settings.md";
    performance "performance.md";
    comparison "comparison.md";
}
