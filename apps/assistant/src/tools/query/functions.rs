//! Functions that queries may call: pure functions only, no external access.

pub(super) mod bigquery;

/// Returns true if the SQLite function of this name, in lower case, is pure.
pub(super) fn is_pure_function(name: &str) -> bool {
    SCALAR.contains(&name) || AGGREGATE.contains(&name) || TIME.contains(&name) || JSON.contains(&name)
}

/// Returns the index of the argument that the SQLite function of this name searches for in the others. The run time
/// grows with its length times the length of the text.
pub(super) fn needle_index(name: &str) -> Option<usize> {
    matches!(name, "instr" | "replace" | "trim" | "ltrim" | "rtrim" | "unhex").then_some(1)
}

/// Returns true for table-valued functions.
pub(super) fn is_table_function(name: &str) -> bool {
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

// Without `json_patch`, which compares every key of one text with every key of the other.
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
