//! Collects the names that a Rust file declares, from its syntax tree.
//!
//! Collects declarations and no uses: methods of a trait belong to the trait, not to its implementations, and
//! `Point { x, y }` in a pattern repeats the names of fields. Macro calls have no syntax tree: in them, a name after a
//! keyword such as `fn` or `let` is a declaration.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Meta, Token};

/// The role of a declared name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A struct, enum, union, trait or type alias.
    Type,
    /// A module.
    Module,
    /// A constant or static.
    Constant,
    /// An associated type, function, field, variant, parameter or local variable.
    Other,
}

/// A declared name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) role: Role,
    /// True inside an item marked `#[cfg(test)]`.
    pub(super) in_tests: bool,
}

/// The names of one file.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) names: Vec<Declaration>,
    /// Modules marked `#[cfg(test)]` that are files of their own.
    pub(super) test_modules: Vec<String>,
    test_depth: usize,
    in_trait_impl: bool,
}

impl Declarations {
    /// Parses a file and collects its names, in the order of the text.
    ///
    /// # Errors
    /// Returns an error if the text is not valid Rust.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file = syn::parse_file(text).map_err(|error| format!("line {}: {error}", error.span().start().line))?;
        let mut declarations = Self::default();
        declarations.visit_file(&file);
        Ok(declarations)
    }

    /// Collects the names after keywords in the tokens of a macro call.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut role = None;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word == "mut" || word == "ref" => {}
                TokenTree::Ident(word) => {
                    // `const fn f` declares only `f`, and `let Some(x)` declares no `Some`.
                    let next = declared_role(&word.to_string());
                    let is_pattern = role == Some(Role::Other) && word.to_string().starts_with(char::is_uppercase);
                    if let Some(role) = role.filter(|_| next.is_none() && !is_pattern) {
                        self.add(&word, role);
                    }
                    role = next;
                }
                TokenTree::Group(group) => {
                    role = None;
                    self.add_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => role = None,
            }
        }
    }

    fn add(&mut self, name: &Ident, role: Role) {
        let line = name.span().start().line;
        self.names.push(Declaration { name: name.unraw().to_string(), line, role, in_tests: self.test_depth > 0 });
    }
}

/// Returns the role of the name that follows a keyword.
fn declared_role(keyword: &str) -> Option<Role> {
    match keyword {
        "struct" | "enum" | "union" | "trait" => Some(Role::Type),
        "mod" => Some(Role::Module),
        "const" | "static" => Some(Role::Constant),
        "fn" | "let" | "type" => Some(Role::Other),
        _ => None,
    }
}

/// Returns true for `#[cfg(test)]` and for `#[cfg(all(test, ..))]`.
fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Meta>().is_ok_and(|condition| requires_test(&condition))
    })
}

fn requires_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(requires_test)),
        _ => false,
    }
}

impl<'a> Visit<'a> for Declarations {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let only_tests = is_test_only(attributes(item));
        self.test_depth += usize::from(only_tests);
        visit::visit_item(self, item);
        self.test_depth -= usize::from(only_tests);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        self.add(&item.ident, Role::Module);
        if item.content.is_none() && self.test_depth > 0 {
            self.test_modules.push(item.ident.unraw().to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.ident, Role::Type);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.ident, Role::Type);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'a syn::ItemUnion) {
        self.add(&item.ident, Role::Type);
        visit::visit_item_union(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.ident, Role::Type);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.ident, Role::Type);
        visit::visit_item_type(self, item);
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig.ident, Role::Other);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.add(&item.ident, Role::Constant);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.add(&item.ident, Role::Constant);
        visit::visit_item_static(self, item);
    }

    fn visit_item_macro(&mut self, item: &'a syn::ItemMacro) {
        if let Some(name) = &item.ident {
            self.add(name, Role::Other);
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.add_tokens(call.tokens.clone());
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.in_trait_impl, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.in_trait_impl = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !self.in_trait_impl {
            self.add(&item.sig.ident, Role::Other);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        if !self.in_trait_impl {
            self.add(&item.ident, Role::Constant);
        }
        visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.add(&item.sig.ident, Role::Other);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &'a syn::TraitItemConst) {
        self.add(&item.ident, Role::Constant);
        visit::visit_trait_item_const(self, item);
    }

    fn visit_trait_item_type(&mut self, item: &'a syn::TraitItemType) {
        self.add(&item.ident, Role::Other);
        visit::visit_trait_item_type(self, item);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if let Some(name) = &field.ident {
            self.add(name, Role::Other);
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.add(&variant.ident, Role::Other);
        visit::visit_variant(self, variant);
    }

    fn visit_type_param(&mut self, parameter: &'a syn::TypeParam) {
        self.add(&parameter.ident, Role::Other);
        visit::visit_type_param(self, parameter);
    }

    fn visit_const_param(&mut self, parameter: &'a syn::ConstParam) {
        self.add(&parameter.ident, Role::Other);
        visit::visit_const_param(self, parameter);
    }

    fn visit_use_rename(&mut self, rename: &'a syn::UseRename) {
        self.add(&rename.rename, Role::Other);
    }

    fn visit_field_pat(&mut self, field: &'a syn::FieldPat) {
        // `Point { x, .. }` declares nothing: the field is named elsewhere.
        if field.colon_token.is_some() {
            visit::visit_field_pat(self, field);
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        // `None` and `LIMIT` are also parsed as such patterns, and declare nothing.
        if !pattern.ident.unraw().to_string().starts_with(char::is_uppercase) {
            self.add(&pattern.ident, Role::Other);
        }
        visit::visit_pat_ident(self, pattern);
    }
}

fn attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        _ => &[],
    }
}
