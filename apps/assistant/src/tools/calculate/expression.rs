//! Operator precedence: signs and percent first, then powers, products, sums.

use rust_decimal::Decimal;
use superstep::ToolError;

use super::arithmetic::Arithmetic;
use super::tokens::Token;
use crate::tools::error::invalid;

/// Maximum nesting depth of brackets.
const DEEPEST: usize = 50;

/// A number that may be a percentage.
#[derive(Debug, Clone, Copy)]
struct Term {
    value: Decimal,
    /// True if written with a percent sign; the value is then divided by 100.
    is_percent: bool,
}

/// Parser of an expression.
pub(super) struct ExpressionParser<'a> {
    rest: &'a [Token],
    depth: usize,
    arithmetic: &'a mut Arithmetic,
}

/// Evaluates a complete list of tokens.
pub(super) fn evaluate(tokens: &[Token], arithmetic: &mut Arithmetic) -> Result<Decimal, ToolError> {
    let mut reader = ExpressionParser { rest: tokens, depth: 0, arithmetic };
    let value = reader.sum()?.value;
    match reader.rest.first() {
        None => Ok(value),
        Some(Token::Sign(sign)) => Err(invalid(format_args!("`{sign}` stands where nothing fits"))),
        Some(Token::Number(number)) => Err(invalid(format_args!("there is no sign before {number}"))),
        Some(Token::Word(word)) => Err(invalid(format_args!("I do not understand `{word}` in a calculation"))),
    }
}

impl ExpressionParser<'_> {
    fn takes(&mut self, is_it: impl Fn(&Token) -> bool) -> bool {
        let found = self.rest.first().is_some_and(is_it);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn sum(&mut self) -> Result<Term, ToolError> {
        let mut left = self.product()?;
        loop {
            let is_minus = match self.rest.first() {
                Some(Token::Sign('+')) => false,
                Some(Token::Sign('-')) => true,
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
            let is_product =
                matches!(operation, Token::Sign('*' | '/' | '%')) || operation.is("mod") || operation.is("of");
            if !is_product {
                return Ok(left);
            }
            self.rest = &self.rest[1..];
            let right = self.signed()?.value;
            let value = match operation {
                Token::Sign('/') => self.arithmetic.divide(left.value, right)?,
                Token::Sign('%') => self.arithmetic.remainder(left.value, right)?,
                Token::Word(word) if word == "mod" => self.arithmetic.remainder(left.value, right)?,
                _ => self.arithmetic.multiply(left.value, right)?,
            };
            left = Term { value, is_percent: false };
        }
    }

    fn signed(&mut self) -> Result<Term, ToolError> {
        let mut is_negative = false;
        while let Some(Token::Sign(sign @ ('+' | '-'))) = self.rest.first() {
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
        let base = self.share()?;
        if !self.takes(|token| *token == Token::Sign('^')) {
            return Ok(base);
        }
        self.deeper()?;
        let exponent = self.signed()?.value;
        self.depth -= 1;
        Ok(Term { value: self.arithmetic.power(base.value, exponent)?, is_percent: false })
    }

    /// Parses a value with an optional percent sign. Before a number or a bracket, the sign is the remainder
    /// operator.
    fn share(&mut self) -> Result<Term, ToolError> {
        let value = self.value()?;
        let is_remainder = matches!(self.rest.get(1), Some(Token::Number(_) | Token::Sign('(')));
        let is_percent = !is_remainder && self.takes(|token| *token == Token::Sign('%'));
        let value = if is_percent { self.arithmetic.divide(value, Decimal::ONE_HUNDRED)? } else { value };
        Ok(Term { value, is_percent })
    }

    fn value(&mut self) -> Result<Decimal, ToolError> {
        match self.rest.split_first() {
            Some((Token::Number(number), rest)) => {
                self.rest = rest;
                Ok(*number)
            }
            Some((Token::Sign('('), rest)) => {
                self.rest = rest;
                self.deeper()?;
                let value = self.sum()?.value;
                self.depth -= 1;
                if self.takes(|token| *token == Token::Sign(')')) {
                    Ok(value)
                } else {
                    Err(invalid("a `)` is missing"))
                }
            }
            Some((Token::Word(word), _)) => Err(invalid(format_args!("I do not understand `{word}` in a calculation"))),
            _ => Err(invalid("a number is missing")),
        }
    }

    fn deeper(&mut self) -> Result<(), ToolError> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(invalid("there are too many brackets in each other")) } else { Ok(()) }
    }
}
