//! `deal!`: text about a heap, read while the program is compiled.
//!
//! The parser is that of the run-time text, so that what compiles here parses there. Classes and
//! fields are not known before there is a heap; of names, only what is certainly wrong is reported.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_deal::diagnostic::{Diagnostic, Diagnostics};
use heaphound_deal::parse::{Parsed, parse};
use heaphound_deal::syntax::{
    Expr, ExprKind, File, GcAssertionKind, Item, Quantifier, Query, Select, Span as TextSpan,
    Statement,
};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

/// `m, "text", d, e = other, weak f`
pub(crate) struct Input {
    mutator: Option<syn::Expr>,
    text: LitStr,
    hosts: Vec<Host>,
}

/// A host variable, and what it is bound to.
struct Host {
    name: Ident,
    value: TokenStream,
    weak: bool,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut mutator = None;
        if !input.peek(LitStr) {
            let message = "the text must be a literal; `Rules::new` takes any other";
            let first: syn::Expr = input.parse()?;
            if input.is_empty() {
                return Err(Error::new_spanned(first, message));
            }
            mutator = Some(first);
            input.parse::<Token![,]>()?;
            if !input.peek(LitStr) {
                return Err(input.error(message));
            }
        }
        let text = input.parse()?;
        let mut hosts = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            hosts.push(input.parse()?);
        }
        Ok(Self {
            mutator,
            text,
            hosts,
        })
    }
}

impl Parse for Host {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut name = input.call(Ident::parse_any)?;
        let weak = name == "weak" && input.peek(Ident::peek_any);
        if weak {
            name = input.call(Ident::parse_any)?;
        }
        let value = match input.peek(Token![=]) {
            true => {
                input.parse::<Token![=]>()?;
                input.parse::<syn::Expr>()?.into_token_stream()
            }
            false => name.to_token_stream(),
        };
        Ok(Self { name, value, weak })
    }
}

pub(crate) fn expand(input: &Input) -> TokenStream {
    let (text, mut wrong) = read(&input.text, &input.hosts);
    if let (None, Some(host)) = (&input.mutator, input.hosts.first()) {
        let message = "whose variable is this? `deal!(m, \"…\", …)` has the mutator first";
        wrong.push(Error::new(host.name.span(), message));
    }
    if !wrong.is_empty() {
        let wrong = wrong.iter().map(Error::to_compile_error);
        // Of the right type, so that nothing else seems to be wrong.
        return quote!({ #(#wrong)* ::heaphound::Rules::new("") });
    }
    let Some(mutator) = &input.mutator else {
        return quote!(::heaphound::Rules::new(#text));
    };
    let hosts = &input.hosts;
    let values = hosts.iter().map(|host| &host.value);
    let places: Vec<Ident> = (0..hosts.len())
        .map(|nth| Ident::new(&format!("host_{nth}"), Span::mixed_site()))
        .collect();
    // The arguments may use the mutator, so it is borrowed after them.
    let borrowed = Ident::new("mutator", Span::mixed_site());
    let binds = hosts.iter().zip(&places).map(|(host, place)| {
        let name = host.name.unraw().to_string();
        let bind = match host.weak {
            true => quote!(bind_weak),
            false => quote!(bind),
        };
        quote!(.#bind(#borrowed, #name, #place))
    });
    quote!(match (#(&#values,)*) {
        (#(#places,)*) => {
            let #borrowed: &::heaphound::Mutator<'_> = &#mutator;
            ::heaphound::Rules::new(#text) #(#binds)*
        }
    })
}

/// Returns the text as `Rules` takes it, and all that is wrong with it.
fn read(literal: &LitStr, hosts: &[Host]) -> (String, Vec<Error>) {
    let written = literal.value();
    let Parsed { file, diagnostics } = parse(&written);
    let mut wrong = diagnostics;
    let mut text = written.clone();
    // What follows from a mistake is not reported.
    let mut errors = Vec::new();
    if wrong.is_empty() {
        match &file.items[..] {
            [] => wrong.push(Diagnostic::new(TextSpan::new(0, 0), "this says nothing")),
            [Item::Statement(Statement::Expr(_))] => {
                text = wrap(&written, &file);
                wrong = parse(&text).diagnostics;
            }
            _ => {}
        }
        let mut names = Names::default();
        names.file(&file);
        names.hosts(hosts, &mut wrong, &mut errors);
    }
    let list = Diagnostics::new("deal", &written, wrong).list;
    let place = Place::of(literal);
    errors.splice(0..0, list.iter().map(|it| place.error(&written, it)));
    (text, errors)
}

/// Makes an assertion of a formula that stands alone. It stays on its line.
fn wrap(text: &str, file: &File) -> String {
    let mut text = text.to_string();
    // A comment at its end would hide the bracket, and a semicolon does not belong inside.
    for comment in &file.comments {
        let TextSpan { start, end } = comment.span;
        text.replace_range(start..end, &" ".repeat(end - start));
    }
    let formula = text.trim_end_matches(|c: char| c.is_whitespace() || c == ';');
    format!("assertion({formula})")
}

/// Where a literal stands, and how places in its text are found in the program.
struct Place {
    literal: Literal,
    /// Where the text begins in what was written, if nothing in it is escaped.
    start: Option<usize>,
}

impl Place {
    fn of(literal: &LitStr) -> Self {
        let written = literal.token();
        let shown = written.to_string();
        let start = shown.find('"').map(|quote| quote + 1);
        let text = literal.value();
        let start = start.filter(|&start| shown[start..].starts_with(&text));
        Self {
            literal: written,
            start,
        }
    }

    fn error(&self, text: &str, diagnostic: &Diagnostic) -> Error {
        let exact = self.exact(diagnostic.span);
        let mut message = diagnostic.message.clone();
        match (&diagnostic.hint, exact) {
            (None, Some(_)) => {}
            (Some(hint), Some(_)) => message = format!("{message}: {hint}"),
            // The compiler underlines the whole literal: show the place ourselves.
            (_, None) => {
                let one = Diagnostics::new("deal", text, vec![diagnostic.clone()]).to_string();
                let shown = one.split_once('\n').map_or("", |(_, shown)| shown);
                message = format!("{message}\n{shown}");
            }
        }
        Error::new(exact.unwrap_or_else(|| self.literal.span()), message)
    }

    /// Returns the exact place in the program, if the compiler knows it. Only a nightly one
    /// does, as of 2026.
    fn exact(&self, span: TextSpan) -> Option<Span> {
        let start = self.start? + span.start;
        let end = (self.start? + span.end).max(start + 1);
        self.literal.subspan(start..end)
    }
}

/// The names of a text that are not its logic variables.
#[derive(Default)]
struct Names {
    /// Those in scope.
    variables: Vec<String>,
    /// What the text binds itself.
    lets: BTreeSet<String>,
    /// What can be a host variable.
    free: BTreeSet<String>,
    /// What cannot be anything else, and where it is first.
    certain: BTreeMap<String, TextSpan>,
}

impl Names {
    /// Says which variables are missing, and which are not used.
    fn hosts(self, hosts: &[Host], missing: &mut Vec<Diagnostic>, unused: &mut Vec<Error>) {
        let bound: Vec<String> = hosts.iter().map(|it| it.name.unraw().to_string()).collect();
        for (nth, name) in bound.iter().enumerate() {
            let span = hosts[nth].name.span();
            if bound[..nth].contains(name) {
                unused.push(Error::new(span, format!("`{name}` is bound twice")));
            } else if !self.free.contains(name) {
                let message = format!("the text has no host variable `{name}`");
                unused.push(Error::new(span, message));
            }
        }
        for (name, span) in self.certain {
            if !bound.contains(&name) {
                let message = format!("`{name}` is not bound");
                let diagnostic = Diagnostic::new(span, message);
                let known = bound.iter().map(String::as_str);
                let near = heaphound_deal::diagnostic::nearest(&name, known);
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("add it behind the text: `{name}`, or `{name} = …`"),
                };
                missing.push(diagnostic.hint(hint));
            }
        }
    }

    fn file(&mut self, file: &File) {
        for item in &file.items {
            match item {
                Item::Let(binding) => {
                    self.object(&binding.value);
                    self.lets.insert(binding.name.text.clone());
                }
                // Classes are not known before there is a heap.
                Item::Optional(_) => {}
                Item::Rule(rule) => self.statement(&rule.statement),
                Item::Statement(statement) => self.statement(statement),
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assertion(assertion) => self.expr(&assertion.formula),
            Statement::Expr(expr) => self.expr(expr),
            Statement::Query(query) => self.query(query),
            // A target may be a class.
            Statement::Gc(gc) => match &gc.kind {
                GcAssertionKind::OwnedBy(a, b) => {
                    self.expr(&a.what);
                    self.expr(&b.what);
                }
                GcAssertionKind::Unshared(target, _) | GcAssertionKind::Dead(target) => {
                    self.expr(&target.what);
                }
                GcAssertionKind::Instances(..) | GcAssertionKind::Volume(..) => {}
            },
        }
    }

    fn query(&mut self, query: &Query) {
        self.variables.push(query.variable.text.clone());
        query.body.iter().for_each(|body| self.expr(body));
        match &query.select {
            Select::Values(values) => values.iter().for_each(|it| self.expr(it)),
            Select::Fold(_, _, of) => self.expr(of),
            Select::Objects | Select::Count(_) => {}
        }
        self.variables.pop();
    }

    fn quantifier(&mut self, quantifier: &Quantifier) {
        self.variables.push(quantifier.variable.text.clone());
        quantifier.range.iter().for_each(|range| self.expr(range));
        self.expr(&quantifier.body);
        self.variables.pop();
    }

    /// An expression of any kind. A name that stands alone can be a variant of an enum.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                if self.is_free(name) {
                    self.free.insert(name.clone());
                }
            }
            ExprKind::Host(_) | ExprKind::Constant(_) | ExprKind::Wrong => {}
            ExprKind::Field(of, _) | ExprKind::Element(of, _) => self.object(of),
            ExprKind::InstanceOf(of, _) | ExprKind::HasLabel(of, _) => self.object(of),
            ExprKind::Not(of) => self.expr(of),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Reach(relation, of) => {
                for part in &relation.parts {
                    part.source.iter().for_each(|it| self.object(it));
                    part.exclusions.iter().for_each(|it| self.object(it));
                }
                self.object(of);
            }
            ExprKind::Quantifier(quantifier) => self.quantifier(quantifier),
            ExprKind::Set(of) | ExprKind::Call(_, of) => of.iter().for_each(|it| self.expr(it)),
            ExprKind::Method(of, _, arguments) => {
                self.expr(of);
                arguments.iter().for_each(|it| self.expr(it));
            }
        }
    }

    /// An expression that must be an object.
    fn object(&mut self, expr: &Expr) {
        if let ExprKind::Name(name) = &expr.kind
            && self.is_free(name)
        {
            self.certain.entry(name.clone()).or_insert(expr.span);
        }
        self.expr(expr);
    }

    fn is_free(&self, name: &String) -> bool {
        !self.variables.contains(name) && !self.lets.contains(name)
    }
}
