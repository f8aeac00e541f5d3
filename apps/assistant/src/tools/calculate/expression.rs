//! Operator precedence: signs and percent first, then powers, products, sums.

use rust_decimal::Decimal;
use superstep::ToolError;

use super::arithmetic::Arithmetic;
use super::tokens::CalculatorToken;
use crate::tools::error::invalid;

/// Maximum nesting depth of brackets.
const MAX_DEPTH: usize = 50;

/// A number that may be a percentage.
#[derive(Debug, Clone, Copy)]
struct Term {
    value: Decimal,
    /// True if written with a percent sign; the value is then divided by 100.
    is_percent: bool,
}

/// Parser of an expression.
pub(super) struct ExpressionParser<'a> {
    rest: &'a [CalculatorToken],
    depth: usize,
    arithmetic: &'a mut Arithmetic,
}

/// Evaluates a complete list of tokens.
pub(super) fn evaluate(tokens: &[CalculatorToken], arithmetic: &mut Arithmetic) -> Result<Decimal, ToolError> {
    let mut parser = ExpressionParser { rest: tokens, depth: 0, arithmetic };
    let value = parser.sum()?.value;
    match parser.rest.first() {
        None => Ok(value),
        Some(CalculatorToken::Sign(sign)) => Err(invalid(format_args!("unexpected `{sign}`"))),
        Some(CalculatorToken::Number(number)) => Err(invalid(format_args!("an operator is missing before {number}"))),
        Some(CalculatorToken::Word(word)) => {
            Err(invalid(format_args!("I do not understand `{word}` in a calculation")))
        }
    }
}

impl ExpressionParser<'_> {
    fn take_if(&mut self, predicate: impl Fn(&CalculatorToken) -> bool) -> bool {
        let is_match = self.rest.first().is_some_and(predicate);
        if is_match {
            self.rest = &self.rest[1..];
        }
        is_match
    }

    fn sum(&mut self) -> Result<Term, ToolError> {
        let mut left = self.product()?;
        loop {
            let is_minus = match self.rest.first() {
                Some(CalculatorToken::Sign('+')) => false,
                Some(CalculatorToken::Sign('-')) => true,
                _ => return Ok(left),
            };
            self.rest = &self.rest[1..];
            let mut right = self.product()?;
            // As in spoken language: 1380 plus 19 % adds 19 % of 1380.
            if right.is_percent && !left.is_percent {
                right.value = self.arithmetic.multiply(left.value, right.value)?;
            }
            let value = if is_minus { -right.value } else { right.value };
            left.value = self.arithmetic.add(left.value, value)?;
        }
    }

    fn product(&mut self) -> Result<Term, ToolError> {
        let mut left = self.signed()?;
        loop {
            let Some(operation) = self.rest.first().cloned() else { return Ok(left) };
            let is_product = matches!(operation, CalculatorToken::Sign('*' | '/' | '%'))
                || operation.is("mod")
                || operation.is("of");
            if !is_product {
                return Ok(left);
            }
            self.rest = &self.rest[1..];
            let right = self.signed()?.value;
            let value = match operation {
                CalculatorToken::Sign('/') => self.arithmetic.divide(left.value, right)?,
                CalculatorToken::Sign('%') => self.arithmetic.remainder(left.value, right)?,
                CalculatorToken::Word(word) if word == "mod" => self.arithmetic.remainder(left.value, right)?,
                _ => self.arithmetic.multiply(left.value, right)?,
            };
            left = Term { value, is_percent: false };
        }
    }

    fn signed(&mut self) -> Result<Term, ToolError> {
        let mut is_negative = false;
        while let Some(CalculatorToken::Sign(sign @ ('+' | '-'))) = self.rest.first() {
            is_negative ^= *sign == '-';
            self.rest = &self.rest[1..];
        }
        let mut term = self.power()?;
        if is_negative {
            term.value = -term.value;
        }
        Ok(term)
    }

    fn power(&mut self) -> Result<Term, ToolError> {
        let base = self.percentage()?;
        if !self.take_if(|token| *token == CalculatorToken::Sign('^')) {
            return Ok(base);
        }
        self.enter_nested()?;
        let exponent = self.signed()?.value;
        self.depth -= 1;
        Ok(Term { value: self.arithmetic.power(base.value, exponent)?, is_percent: false })
    }

    /// Parses a value with an optional percent sign. Before a number or a bracket, the sign is the remainder
    /// operator.
    fn percentage(&mut self) -> Result<Term, ToolError> {
        let value = self.value()?;
        let is_remainder = matches!(self.rest.get(1), Some(CalculatorToken::Number(_) | CalculatorToken::Sign('(')));
        let is_percent = !is_remainder && self.take_if(|token| *token == CalculatorToken::Sign('%'));
        let value = if is_percent { self.arithmetic.divide(value, Decimal::ONE_HUNDRED)? } else { value };
        Ok(Term { value, is_percent })
    }

    fn value(&mut self) -> Result<Decimal, ToolError> {
        match self.rest.split_first() {
            Some((CalculatorToken::Number(number), rest)) => {
                self.rest = rest;
                Ok(*number)
            }
            Some((CalculatorToken::Sign('('), rest)) => {
                self.rest = rest;
                self.enter_nested()?;
                let value = self.sum()?.value;
                self.depth -= 1;
                if self.take_if(|token| *token == CalculatorToken::Sign(')')) {
                    Ok(value)
                } else {
                    Err(invalid("a `)` is missing"))
                }
            }
            Some((CalculatorToken::Word(word), _)) => {
                Err(invalid(format_args!("I do not understand `{word}` in a calculation")))
            }
            _ => Err(invalid("a number is missing")),
        }
    }

    fn enter_nested(&mut self) -> Result<(), ToolError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(invalid("the brackets are nested too deeply")) } else { Ok(()) }
    }
}
