//! Checked arithmetic operations: each has its own error, and a loss of digits is recorded.

use rust_decimal::Decimal;
use superstep::ToolError;

use crate::tools::error::invalid;

/// Maximum exponent.
const MAX_EXPONENT: i64 = 1_000;

/// Arithmetic of one calculation, with a record of lost digits.
#[derive(Debug, Default)]
pub(super) struct Arithmetic {
    /// True if a result had more digits than fit.
    pub(super) is_rounded: bool,
}

impl Arithmetic {
    pub(super) fn add(&mut self, left: Decimal, right: Decimal) -> Result<Decimal, ToolError> {
        let sum = left.checked_add(right).ok_or_else(too_large)?;
        self.is_rounded |= sum.checked_sub(right) != Some(left);
        Ok(sum)
    }

    pub(super) fn subtract(&mut self, left: Decimal, right: Decimal) -> Result<Decimal, ToolError> {
        self.add(left, -right)
    }

    pub(super) fn multiply(&mut self, left: Decimal, right: Decimal) -> Result<Decimal, ToolError> {
        let (product, is_exact) = product(left, right).ok_or_else(too_large)?;
        self.is_rounded |= !is_exact;
        Ok(product)
    }

    pub(super) fn divide(&mut self, left: Decimal, right: Decimal) -> Result<Decimal, ToolError> {
        if right.is_zero() {
            return Err(invalid("division by zero"));
        }
        let quotient = left.checked_div(right).ok_or_else(too_large)?;
        let is_exact_quotient = product(quotient, right).is_some_and(|(back, is_exact)| is_exact && back == left);
        self.is_rounded |= !is_exact_quotient;
        Ok(quotient)
    }

    pub(super) fn remainder(&mut self, left: Decimal, right: Decimal) -> Result<Decimal, ToolError> {
        if right.is_zero() {
            return Err(invalid("division by zero"));
        }
        left.checked_rem(right).ok_or_else(too_large)
    }

    pub(super) fn power(&mut self, base: Decimal, exponent: Decimal) -> Result<Decimal, ToolError> {
        let normalized = exponent.normalize();
        if normalized.scale() > 0 || normalized.abs() > Decimal::from(MAX_EXPONENT) {
            return Err(invalid(format_args!("an exponent must be an integer up to {MAX_EXPONENT}")));
        }
        let mut product = Decimal::ONE;
        let mut count = Decimal::ZERO;
        while count < normalized.abs() {
            product = self.multiply(product, base)?;
            count += Decimal::ONE;
        }
        if normalized.is_sign_negative() && !normalized.is_zero() {
            self.divide(Decimal::ONE, product)
        } else {
            Ok(product)
        }
    }
}

/// Returns a product, and true if it is exact: with as many decimals as both factors together.
fn product(left: Decimal, right: Decimal) -> Option<(Decimal, bool)> {
    let (left, right) = (left.normalize(), right.normalize());
    let product = left.checked_mul(right)?;
    let is_exact = left.is_zero() || right.is_zero() || product.scale() == left.scale() + right.scale();
    Some((product, is_exact))
}

fn too_large() -> ToolError {
    invalid("the result is too large: the maximum is 28 digits")
}
