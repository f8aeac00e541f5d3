//! Building graphs: nodes, edges, joins, conditional edges, sends, commands, compile errors and diagrams.

mod commands;
mod compile;
mod diagram;
mod joins;
mod nodes;
mod routes;
mod sends;
