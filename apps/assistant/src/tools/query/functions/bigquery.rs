//! BigQuery functions that depend only on their arguments or the clock. All other names are rejected: a name may be
//! a user-defined function of the dataset, which can do anything, or a function that BigQuery adds later.
//!
//! Deliberately excluded: external access (`EXTERNAL_QUERY`, `ML`, `AI`, `NET`), keys (`AEAD`, `KEYS`), the
//! identity of the caller (`SESSION_USER`), and random values (`RAND`, `GENERATE_UUID`).

/// Returns true if a function, given by the lower-case parts of its name, is allowed. The prefix `SAFE.` only turns
/// errors into `NULL`.
pub(crate) fn is_allowed_function(parts: &[String]) -> bool {
    let name = match parts {
        [name] => name,
        [prefix, name] if prefix == "safe" => name,
        _ => return false,
    };
    GROUPS.iter().any(|group| group.split_whitespace().any(|entry| entry == name))
}

const GROUPS: [&str; 9] = [AGGREGATE, WINDOW, MATH, STRING, TIME, JSON, CONVERT, ARRAY, CHOICE];

const AGGREGATE: &str = "
    any_value approx_count_distinct approx_quantiles approx_top_count approx_top_sum array_agg array_concat_agg avg bit_and
    bit_or bit_xor corr count count_if countif covar_pop covar_samp grouping logical_and logical_or max max_by min min_by
    stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance";

const WINDOW: &str = "
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank percentile_cont percentile_disc rank
    row_number";

const MATH: &str = "
    abs acos acosh acot acoth asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot coth csc csch div exp
    floor greatest ieee_divide is_inf is_nan least ln log log10 mod pow power range_bucket round safe_add safe_divide
    safe_multiply safe_negate safe_subtract sec sech sign sin sinh sqrt tan tanh trunc";

const STRING: &str = "
    ascii byte_length char_length character_length chr code_points_to_bytes code_points_to_string collate concat
    contains_substr edit_distance ends_with farm_fingerprint format from_base32 from_base64 from_hex initcap instr left
    length lower lpad ltrim md5 normalize normalize_and_casefold octet_length regexp_contains regexp_extract
    regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace reverse right rpad rtrim
    safe_convert_bytes_to_string sha1 sha256 sha512 soundex split starts_with strpos substr substring to_base32 to_base64
    to_code_points to_hex translate trim unicode upper";

const TIME: &str = "
    current_date current_datetime current_time current_timestamp date date_add date_bucket date_diff
    date_from_unix_date date_sub date_trunc datetime datetime_add datetime_bucket datetime_diff datetime_sub
    datetime_trunc extract format_date format_datetime format_time format_timestamp generate_range_array justify_days
    justify_hours justify_interval last_day make_interval parse_date parse_datetime parse_time parse_timestamp range
    range_contains range_end range_intersect range_overlaps range_start time time_add time_diff time_sub time_trunc
    timestamp timestamp_add timestamp_bucket timestamp_diff timestamp_micros timestamp_millis timestamp_seconds
    timestamp_sub timestamp_trunc unix_date unix_micros unix_millis unix_seconds";

const JSON: &str = "
    bool float64 int64 json_array json_array_append json_array_insert json_extract json_extract_array
    json_extract_scalar json_extract_string_array json_keys json_object json_query json_query_array json_remove json_set
    json_strip_nulls json_type json_value json_value_array lax_bool lax_float64 lax_int64 lax_string parse_json string
    to_json to_json_string";

const CONVERT: &str = "cast parse_bignumeric parse_numeric safe_cast";

const ARRAY: &str = "
    array array_concat array_first array_last array_length array_reverse array_slice array_to_string generate_array
    generate_date_array generate_timestamp_array offset ordinal safe_offset safe_ordinal struct";

const CHOICE: &str = "coalesce if ifnull nullif nullifzero zeroifnull";
