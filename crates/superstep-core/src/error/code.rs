//! The table of error codes: name, HTTP status, exit code, kind.
//!
//! A number is never reused. `Internal` has no number of its own in the table of the specification: it is a bug in
//! superstep, not a condition a user can meet in a correct build.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ErrorKind;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $http:literal, $exit:literal;)*) => {
        /// The stable code of an error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// All codes, ordered by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the number; 0 is a bug in superstep.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $(Self::$name => $number,)* }
            }

            /// Returns the name in the table of codes.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            const fn statuses(self) -> (u16, u8) {
                match self { $(Self::$name => ($http, $exit),)* }
            }
        }
    };
}

codes! {
    /// An invariant of superstep is broken.
    Internal = 0, 500, 70;
    /// The graph cannot be compiled, or does not match the stored thread.
    InvalidGraph = 1, 500, 65;
    /// The input was rejected before anything ran.
    InputInvalid = 2, 422, 65;
    /// A required output field is absent at the end.
    OutputInvalid = 3, 500, 70;
    /// A node wrote a field the schema does not have, or read or wrote a field it did not declare.
    UnknownField = 4, 500, 70;
    /// A value has another type than its field.
    TypeMismatch = 5, 500, 70;
    /// A reducer rejected an update.
    ReducerFailed = 6, 500, 70;
    /// Two tasks of one superstep wrote a field without a reducer.
    ConcurrentUpdate = 7, 500, 70;
    /// A `set_once` field got another value.
    SetOnceViolation = 8, 409, 65;
    /// A conditional edge, a goto or a send names a target that does not exist or is not declared.
    InvalidRoute = 9, 500, 70;
    /// The run reached its recursion limit.
    RecursionLimit = 10, 500, 75;
    /// A node returned an error or panicked.
    NodeFailed = 11, 500, 70;
    /// A node, a superstep or a run exceeded its timeout.
    Timeout = 12, 504, 75;
    /// The run was cancelled.
    Cancelled = 13, 499, 130;
    /// The call needs a checkpointer and there is none.
    NoCheckpointer = 14, 409, 64;
    /// The thread or the checkpoint does not exist.
    NotFound = 15, 404, 66;
    /// A stored checkpoint is corrupt.
    CheckpointCorrupt = 16, 500, 74;
    /// A stored checkpoint is of a newer version than this program supports.
    CheckpointTooNew = 17, 409, 74;
    /// Another run holds the lease on this thread.
    ThreadBusy = 18, 409, 75;
    /// The resume value matches no open interrupt, or not the schema of its interrupt.
    InvalidResume = 19, 422, 65;
    /// The graph needs a context and got none.
    MissingContext = 20, 500, 78;
    /// A tool failed and its error is passed on to the caller.
    ToolFailed = 21, 502, 69;
    /// A model provider rejected the API key.
    ModelAuth = 22, 401, 77;
    /// A model provider limits the request rate.
    ModelRateLimited = 23, 429, 75;
    /// A model provider cannot be reached.
    ModelUnavailable = 24, 503, 69;
    /// A model returned an unusable response.
    ModelBadAnswer = 25, 502, 76;
    /// A policy forbids the operation.
    PolicyRefused = 26, 403, 77;
    /// A setting is invalid.
    ConfigInvalid = 27, 500, 78;
    /// A limit of superstep was reached.
    TooLarge = 28, 413, 75;
    /// The checkpointer cannot be reached or cannot write.
    StoreUnavailable = 29, 503, 74;
}

impl ErrorCode {
    /// Returns the page of the book about this code.
    #[must_use]
    pub fn page(self) -> String {
        format!("errors/{self}.html")
    }

    /// Returns true if errors with this code are retryable by default.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Timeout | Self::ThreadBusy | Self::ModelRateLimited | Self::ModelUnavailable | Self::StoreUnavailable
        )
    }

    pub(super) const fn kind(self, in_node: bool, retry: bool) -> ErrorKind {
        match self {
            Self::Internal => ErrorKind::Internal,
            Self::InputInvalid
            | Self::InvalidResume
            | Self::NotFound
            | Self::NoCheckpointer
            | Self::SetOnceViolation => ErrorKind::Input,
            Self::MissingContext | Self::ConfigInvalid | Self::TooLarge | Self::PolicyRefused => ErrorKind::Input,
            Self::TypeMismatch if !in_node => ErrorKind::Input,
            Self::Timeout | Self::Cancelled | Self::CheckpointCorrupt | Self::CheckpointTooNew | Self::ThreadBusy => {
                ErrorKind::External { retry }
            }
            Self::ToolFailed | Self::ModelAuth | Self::ModelRateLimited | Self::ModelUnavailable => {
                ErrorKind::External { retry }
            }
            Self::ModelBadAnswer | Self::StoreUnavailable | Self::NodeFailed => ErrorKind::External { retry },
            _ => ErrorKind::Graph,
        }
    }

    pub(super) const fn http_status(self, in_node: bool) -> u16 {
        match self {
            Self::TypeMismatch if !in_node => 422,
            _ => self.statuses().0,
        }
    }

    pub(super) const fn exit_code(self, in_node: bool) -> u8 {
        match self {
            Self::TypeMismatch if !in_node => 65,
            _ => self.statuses().1,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SS-{:03}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-93: the table of codes, with HTTP status and exit code.
    #[test]
    fn the_table_is_the_one_of_the_specification() {
        let rows: Vec<String> = ErrorCode::ALL
            .iter()
            .skip(1)
            .map(|code| format!("{code} {} {} {}", code.name(), code.http_status(true), code.exit_code(true)))
            .collect();
        insta::assert_snapshot!(rows.join("\n"), @r"
        SS-001 InvalidGraph 500 65
        SS-002 InputInvalid 422 65
        SS-003 OutputInvalid 500 70
        SS-004 UnknownField 500 70
        SS-005 TypeMismatch 500 70
        SS-006 ReducerFailed 500 70
        SS-007 ConcurrentUpdate 500 70
        SS-008 SetOnceViolation 409 65
        SS-009 InvalidRoute 500 70
        SS-010 RecursionLimit 500 75
        SS-011 NodeFailed 500 70
        SS-012 Timeout 504 75
        SS-013 Cancelled 499 130
        SS-014 NoCheckpointer 409 64
        SS-015 NotFound 404 66
        SS-016 CheckpointCorrupt 500 74
        SS-017 CheckpointTooNew 409 74
        SS-018 ThreadBusy 409 75
        SS-019 InvalidResume 422 65
        SS-020 MissingContext 500 78
        SS-021 ToolFailed 502 69
        SS-022 ModelAuth 401 77
        SS-023 ModelRateLimited 429 75
        SS-024 ModelUnavailable 503 69
        SS-025 ModelBadAnswer 502 76
        SS-026 PolicyRefused 403 77
        SS-027 ConfigInvalid 500 78
        SS-028 TooLarge 413 75
        SS-029 StoreUnavailable 503 74
        ");
    }
}
