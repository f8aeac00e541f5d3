//! Functions that a query may call: those that compute, and none that reach outside.

pub(super) mod bigquery;

/// Whether SQLite's function of this name, in small letters, does nothing but compute.
pub(super) fn is_harmless(name: &str) -> bool {
    SCALAR.contains(&name) || AGGREGATE.contains(&name) || TIME.contains(&name) || JSON.contains(&name)
}

/// Which argument of SQLite's function of this name is looked for in the others, and how long they are counts once for each
/// of its letters.
pub(super) fn needle(name: &str) -> Option<usize> {
    matches!(name, "instr" | "replace" | "trim" | "ltrim" | "rtrim" | "unhex").then_some(1)
}

/// Whether it can be read from like a table.
pub(super) fn is_table(name: &str) -> bool {
    matches!(name, "json_each" | "json_tree")
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

// Without `json_patch`: it compares every name of one text with every name of the other.
const JSON: [&str; 14] = [
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
];
