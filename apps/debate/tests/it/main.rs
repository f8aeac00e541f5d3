//! Integration tests of the debate: one module per feature.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod approval;
mod crash;
mod end_to_end;
mod evidence;
mod fact_check;
mod fact_check_rules;
mod http;
mod migration;
mod model_failure;
mod nodes;
mod rule_model;
mod rule_model_fixtures;
mod serialization;
mod small_model_prompt;
mod state_fields;
mod support;
mod test_server;
mod transcript;
mod validation_errors;
