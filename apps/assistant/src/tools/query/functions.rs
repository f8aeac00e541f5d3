//! Functions that a query may call: those that compute, and none that reach outside.

/// Whether SQLite's function of this name, in small letters, does nothing but compute.
pub(super) fn is_harmless(name: &str) -> bool {
    SCALAR.contains(&name) || AGGREGATE.contains(&name) || TIME.contains(&name) || JSON.contains(&name)
}

/// Whether it can be read from like a table.
pub(super) fn is_table(name: &str) -> bool {
    matches!(name, "json_each" | "json_tree")
}

/// Whether a function is one of BigQuery's own. A name with a dot is a function of somebody, which may do anything; the
/// prefix `SAFE.` only turns errors into nothing.
pub(super) fn is_builtin_of_bigquery(parts: &[String]) -> bool {
    const OUTSIDE: [&str; 4] = ["external_query", "appends", "changes", "session_user"];
    match parts {
        [name] => !OUTSIDE.contains(&name.as_str()),
        [prefix, name] => prefix == "safe" && !OUTSIDE.contains(&name.as_str()),
        _ => false,
    }
}

const SCALAR: [&str; 64] = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceiling",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "floor",
    "format",
    "glob",
    "hex",
    "if",
    "ifnull",
    "iif",
    "instr",
    "length",
    "like",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "nullif",
    "octet_length",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "replace",
    "round",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "soundex",
    "sqrt",
    "substr",
    "substring",
    "tan",
    "tanh",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unlikely",
    "upper",
];

const AGGREGATE: [&str; 20] = [
    "avg",
    "count",
    "group_concat",
    "string_agg",
    "sum",
    "total",
    "median",
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "likely",
    "likelihood",
];

const TIME: [&str; 10] = [
    "date",
    "time",
    "datetime",
    "julianday",
    "unixepoch",
    "strftime",
    "timediff",
    "current_date",
    "current_time",
    "current_timestamp",
];

const JSON: [&str; 15] = [
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
];
