//! `superstep demo`: applications from this binary alone, with sample data.

use serde_json::json;

use crate::args::{Demo, DemoWhat, Global};
use crate::failure::Failure;
use crate::out::Out;

mod debate;

/// Runs a demo, or lists them.
pub(crate) async fn demo(asked: &Demo, global: &Global, out: &Out) -> Result<u8, Failure> {
    match &asked.what {
        Some(DemoWhat::Debate(asked)) => debate::debate(asked, global, out).await,
        None if out.is_text() => {
            out.result("superstep demo debate     an optimist and a skeptic argue, a moderator sums up");
            Ok(0)
        }
        None => {
            out.json_list(&[json!({ "name": "debate" })]);
            Ok(0)
        }
    }
}
