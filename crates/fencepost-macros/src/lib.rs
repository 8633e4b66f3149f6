//! The attribute `#[fencepost::test]`.
//!
//! It turns a function into a test that checks it. Only tokens are moved, so that no parser of Rust is needed.

#![forbid(unsafe_code)]

use proc_macro::{TokenStream, TokenTree};

/// A test that is checked; see the documentation of `fencepost`.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    match expand(options, item) {
        Ok(tokens) => tokens,
        Err(message) => format!("::core::compile_error!({message:?});").parse().expect("this is Rust"),
    }
}

fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream, String> {
    let options = Options::parse(options)?;
    let (attributes, function, name) = split(item)?;
    let Options { model, method, executions, seed, jobs } = options;
    let text = format!(
        "#[::core::prelude::v1::test] {attributes} fn {name}() {{ {function} \
         ::fencepost::__test({model}, {method}, {executions}, {seed}, {jobs}, {name}) }}"
    );
    text.parse().map_err(|_| "fencepost::test: this function cannot be made a test".to_owned())
}

/// The attributes, the function without them, and its name.
fn split(item: TokenStream) -> Result<(TokenStream, TokenStream, String), String> {
    let mut tokens = item.into_iter().peekable();
    let mut attributes = TokenStream::new();
    while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
        attributes.extend(tokens.by_ref().take(2));
    }
    let function: Vec<TokenTree> = tokens.collect();
    let at = function.iter().position(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"));
    match at.and_then(|at| function.get(at + 1)) {
        Some(TokenTree::Ident(name)) => {
            let name = name.to_string();
            Ok((attributes, function.into_iter().collect(), name))
        }
        _ => Err("fencepost::test is for functions without parameters".to_owned()),
    }
}

/// What stands in the parentheses, as it is written.
struct Options {
    model: String,
    method: String,
    executions: String,
    seed: String,
    jobs: String,
}

impl Options {
    fn parse(tokens: TokenStream) -> Result<Options, String> {
        let mut options = Options {
            model: "\"c11\"".to_owned(),
            method: "\"graph\"".to_owned(),
            executions: "1000".to_owned(),
            seed: "1".to_owned(),
            jobs: "1".to_owned(),
        };
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for option in tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
            let [TokenTree::Ident(name), TokenTree::Punct(equals), TokenTree::Literal(value)] = option else {
                if option.is_empty() {
                    continue;
                }
                return Err("fencepost::test: options are written name = value".to_owned());
            };
            if equals.as_char() != '=' {
                return Err("fencepost::test: options are written name = value".to_owned());
            }
            let field = match &name.to_string()[..] {
                "model" => &mut options.model,
                "method" => &mut options.method,
                "executions" => &mut options.executions,
                "seed" => &mut options.seed,
                "jobs" => &mut options.jobs,
                other => {
                    return Err(format!(
                        "fencepost::test: unknown option '{other}': expected model, method, executions, seed or jobs"
                    ));
                }
            };
            *field = value.to_string();
        }
        Ok(options)
    }
}
