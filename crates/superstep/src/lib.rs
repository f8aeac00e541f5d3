//! Durable agent graphs: typed state with reducers, supersteps, checkpoints, interrupts.
