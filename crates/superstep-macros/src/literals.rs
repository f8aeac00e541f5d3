//! Literals in attributes: strings, signed numbers, and the JSON values they represent.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitStr, UnOp};

/// Parses a string literal.
pub(crate) fn text(expr: &Expr) -> Option<LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// Parses a number literal, with an optional sign.
pub(crate) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}

/// Parses a version: an integer of at least 1.
pub(crate) fn version(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok().filter(|version| *version > 0),
        _ => None,
    }
}

/// Parses a count: an integer, or the path of a constant.
pub(crate) fn count(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) | Expr::Path(_) => Some(expr.clone()),
        _ => None,
    }
}

/// Parses a string, number or boolean as an argument of `Value::from`.
pub(crate) fn scalar(expr: &Expr) -> Option<TokenStream> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(_) | Lit::Int(_) | Lit::Float(_) | Lit::Bool(_), .. }) => Some(quote!(#expr)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => number(expr).map(|_| quote!(#expr)),
        _ => None,
    }
}
