//! The files of a crate use one another without circles: if file A uses file B, then B does not use
//! A, directly or through other files.
//!
//! File A uses file B if a `use` line of A, or a path with `crate::` or `super::`, names an item
//! that B defines. A re-export (`pub use`) is followed to the file that defines the item, and is
//! not itself a use. A submodule may use the items of the modules that contain it. Tests do not
//! count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Finding;
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let remedy = "move what both files need into a third";
    let roots = workspace.crates.iter().flat_map(|krate| &krate.roots);
    let mut findings: Vec<Finding> = roots
        .filter_map(|root| Tree::read(workspace, root))
        .flat_map(|tree| tree.circles())
        .map(|circle| {
            let what = format!("a circle between files: {}", circle.join(", "));
            Finding::new(&circle[0], 1, what, remedy)
        })
        .collect();
    findings.dedup();
    findings
}

/// A module path below the crate's root; empty for the root.
type Module = Vec<String>;

/// The files of one crate target.
#[derive(Default)]
struct Tree {
    files: BTreeMap<Module, Source>,
}

/// One file: its path, and the paths that its code names.
#[derive(Default)]
struct Source {
    path: String,
    /// The submodules, from `mod child;`.
    children: Vec<String>,
    /// `pub use` and `pub(crate) use`: the exported name, and the path of the item.
    exports: Vec<(String, Vec<String>)>,
    /// All other paths.
    uses: BTreeSet<Vec<String>>,
}

impl Tree {
    /// Reads `root`, a `lib.rs` or `main.rs`, and all its submodules.
    fn read(workspace: &Workspace, root: &str) -> Option<Self> {
        let mut tree = Self::default();
        let folder = root.rsplit_once('/')?.0;
        let mut waiting = vec![(Module::new(), root.to_owned(), folder.to_owned())];
        while let Some((module, path, folder)) = waiting.pop() {
            let Some(file) = workspace.file(&path) else { continue };
            let source = Source::new(path, &file.text);
            for child in &source.children {
                let below = format!("{folder}/{child}");
                let beside = [format!("{below}.rs"), format!("{below}/mod.rs")];
                let path = beside.into_iter().find(|path| workspace.file(path).is_some());
                let name = [&module[..], core::slice::from_ref(child)].concat();
                waiting.extend(path.map(|path| (name, path, below)));
            }
            tree.files.insert(module, source);
        }
        Some(tree)
    }

    /// Returns the sets of files that use one another, each sorted.
    fn circles(&self) -> Vec<Vec<String>> {
        let below: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut circles = BTreeSet::new();
        for (module, reached) in &below {
            let back = reached.iter().filter(|other| below[**other].contains(*module));
            let mut circle: Vec<String> =
                back.map(|other| self.files[*other].path.clone()).collect();
            circle.sort();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from(&self, start: &Module) -> BTreeSet<&Module> {
        let mut reached = BTreeSet::new();
        let mut waiting = self.used_by(start);
        while let Some(module) = waiting.pop() {
            if reached.insert(module) {
                waiting.extend(self.used_by(module));
            }
        }
        reached
    }

    fn used_by(&self, module: &Module) -> Vec<&Module> {
        let uses = self.files[module].uses.iter();
        uses.filter_map(|path| self.defining(module, path, 0))
            .filter(|defining| !module.starts_with(defining))
            .collect()
    }

    /// Returns the module that defines the item of `path` as named in `module`, if it is in this
    /// crate.
    fn defining(&self, module: &Module, path: &[String], depth: u32) -> Option<&Module> {
        let mut at = module.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (at, rest) = (Module::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            first => {
                let child = [&at[..], &[first.to_owned()]].concat();
                self.files.get(&child)?;
            }
        }
        while let Some(("super", after)) = rest.split_first().map(|(s, r)| (s.as_str(), r)) {
            at.pop();
            rest = after;
        }
        while let Some(first) = rest.first() {
            at.push(first.clone());
            if !self.files.contains_key(&at) {
                at.pop();
                break;
            }
            rest = &rest[1..];
        }
        let (found, source) = self.files.get_key_value(&at)?;
        let export = rest.first().and_then(|name| source.exports.iter().find(|(n, _)| n == name));
        match export {
            Some((_, path)) if depth < 8 => self.defining(found, path, depth + 1),
            _ => Some(found),
        }
    }
}

impl Source {
    fn new(path: String, text: &str) -> Self {
        let mut source = Self { path, ..Self::default() };
        let mut tokens = Vec::new();
        flatten(text.parse().unwrap_or_default(), &mut tokens);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let mut rest = &tokens[..];
        let mut before = "";
        while let [token, after @ ..] = rest {
            rest = after;
            match (*token, after) {
                ("mod", [child, ";", ..]) => source.children.push((*child).to_owned()),
                ("use", _) => {
                    let mut found = Vec::new();
                    rest = use_tree(&[], after, &mut found);
                    if matches!(before, "pub" | ")") {
                        source.exports.extend(found);
                    } else {
                        source.uses.extend(found.into_iter().map(|(_, path)| path));
                    }
                }
                (_, ["::", ..]) if is_name(token) => {
                    let mut path = vec![(*token).to_owned()];
                    while let ["::", name, after @ ..] = rest
                        && is_name(name)
                    {
                        path.push((*name).to_owned());
                        rest = after;
                    }
                    source.uses.insert(path);
                }
                _ => {}
            }
            before = token;
        }
        source
    }
}

/// Reads one tree of a `use` line below `head` and returns the tokens after it. `a::{b, c as d}`
/// gives the path `a::b` for the name `b`, and `a::c` for the name `d`.
fn use_tree<'a>(
    head: &[String],
    tokens: &'a [&'a str],
    found: &mut Vec<(String, Vec<String>)>,
) -> &'a [&'a str] {
    let mut path = head.to_vec();
    let mut rest = tokens;
    loop {
        match rest {
            ["{", after @ ..] => {
                rest = after;
                while let [token, ..] = rest
                    && *token != "}"
                {
                    // the `$` of a macro's parameter is no part of a path
                    rest = rest.strip_prefix(&["$"]).unwrap_or(rest);
                    rest = use_tree(&path, rest, found);
                    rest = rest.strip_prefix(&[","]).unwrap_or(rest);
                }
                return rest.get(1..).unwrap_or_default();
            }
            ["as", alias, after @ ..] => {
                found.push(((*alias).to_owned(), path));
                return after;
            }
            [token, after @ ..] if is_name(token) || *token == "::" || *token == "*" => {
                let is_segment = is_name(token) && (path.is_empty() || *token != "self");
                path.extend(is_segment.then(|| (*token).to_owned()));
                rest = after;
            }
            _ => {
                found.extend(path.last().cloned().map(|name| (name, path)));
                return rest;
            }
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Collects names and punctuation in order, without items that only tests compile. Literals become
/// empty tokens.
fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) => tokens.push(ident.to_string()),
            TokenTree::Literal(_) => tokens.push(String::new()),
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let attribute = trees.next_if(|tree| matches!(tree, TokenTree::Group(_)));
                let text = attribute.map(|tree| tree.to_string().replace(' ', ""));
                if text.as_deref() == Some("[cfg(test)]") {
                    // The item that the attribute belongs to ends with its body or its semicolon.
                    trees.find(|tree| match tree {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(punct) => punct.as_char() == ';',
                        _ => false,
                    });
                }
            }
            TokenTree::Punct(punct) => {
                let is_colon = punct.as_char() == ':';
                let second = trees.next_if(|next| {
                    is_colon && matches!(next, TokenTree::Punct(next) if next.as_char() == ':')
                });
                tokens.push(if second.is_some() { "::".into() } else { punct.to_string() });
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(open.into());
                flatten(group.stream(), tokens);
                tokens.push(close.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, check};
    use crate::workspace::fake;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let paths = files.iter().map(|(path, _)| format!("crates/a/src/{path}"));
        let paths: Vec<String> = paths.collect();
        let files = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text));
        let workspace = fake::workspace(&[fake::krate("a")], &files.collect::<Vec<_>>());
        check(&workspace).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle_through_a_third_too() {
        let lib = ("lib.rs", "mod b; mod c; mod d;");
        let files = [
            lib,
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "pub struct C(super::d::D);"),
            ("d.rs", "use std::fmt; use crate::{b::{B as Other}, c}; pub struct D;"),
        ];
        let found = circles(&files);
        assert_eq!(
            found,
            ["a circle between files: crates/a/src/b.rs, crates/a/src/c.rs, crates/a/src/d.rs"]
        );
        assert!(circles(&files[..3]).is_empty());
    }

    #[test]
    fn a_submodule_may_use_the_module_that_contains_it() {
        let files = [
            ("lib.rs", "mod b; pub struct A;"),
            ("b/mod.rs", "mod c; pub struct B; fn f() { c::g() }"),
            ("b/c.rs", "use super::B; use crate::A;"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn an_export_leads_to_the_file_that_defines_the_item() {
        let files = [
            ("lib.rs", "mod b; mod c; pub use b::B; pub use c::C;"),
            ("b.rs", "pub struct B;"),
            ("c.rs", "use crate::B; pub struct C;"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn tests_comments_strings_and_parameters_of_macros_do_not_count() {
        let text = "// use crate::a;\nconst A: &str = \"crate::b\";\n#[cfg(test)]\nmod tests { use \
                    crate::c; }\nuse crate::d;\nmacro_rules! m { ($a:ident) => { use std::{$a as \
                    x, fmt}; } }";
        let source = Source::new("a.rs".into(), text);
        let of_crate = source.uses.into_iter().filter(|path| path[0] == "crate");
        assert_eq!(of_crate.collect::<Vec<_>>(), [["crate", "d"]]);
    }
}
