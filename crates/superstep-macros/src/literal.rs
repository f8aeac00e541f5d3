//! Literals inside attributes: texts, numbers with a sign, and the JSON values they stand for.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitStr, UnOp};

/// A text literal.
pub(crate) fn text(expr: &Expr) -> Option<LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// A number literal, with a sign or without.
pub(crate) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}

/// A version: a whole number from 1 on.
pub(crate) fn version(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok().filter(|version| *version > 0),
        _ => None,
    }
}

/// A count: a whole number, or the path of a constant.
pub(crate) fn count(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) | Expr::Path(_) => Some(expr.clone()),
        _ => None,
    }
}

/// A text, number or truth value, as an argument of `Value::from`.
pub(crate) fn scalar(expr: &Expr) -> Option<TokenStream> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(_) | Lit::Int(_) | Lit::Float(_) | Lit::Bool(_), .. }) => Some(quote!(#expr)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => number(expr).map(|_| quote!(#expr)),
        _ => None,
    }
}
