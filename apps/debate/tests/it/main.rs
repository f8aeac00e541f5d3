//! The debate from outside: one module for each thing it promises.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod approval;
mod brief;
mod crash;
mod end_to_end;
mod evidence;
mod fact_check;
mod facts;
mod failure;
mod fields;
mod http;
mod migration;
mod nodes;
mod refusals;
mod serial;
mod served;
mod stage;
mod support;
mod transcript;
mod voices;
