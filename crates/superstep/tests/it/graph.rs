//! Drawing graphs: nodes, edges, joins, routes, sends, commands, and what compile and the drawings say.

mod commands;
mod compile;
mod drawing;
mod joins;
mod nodes;
mod routes;
mod sends;
