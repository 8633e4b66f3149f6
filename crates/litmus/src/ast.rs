//! The syntax of a litmus test.
//!
//! Names are interned ([`Symbol`]), not resolved: whether `x` is a parameter or a register is decided when the
//! test is compiled.

use crate::{Int, Pos, Quantifier};
use rustc_hash::FxHashMap;
use std::fmt;

/// A name, as a number. [`Names`] has its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Symbol(u32);

/// The names of a test.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    symbols: FxHashMap<Box<str>, Symbol>,
}

impl Names {
    /// The number of a name, the same for the same text.
    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        self.texts.push(text.into());
        self.symbols.insert(text.into(), symbol);
        symbol
    }

    /// The text of a name.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Test {
    /// What stands behind `C`.
    pub name: String,
    /// The initial state, in the order of the file.
    pub init: Vec<Init>,
    /// `P0`, `P1` …
    pub threads: Vec<Thread>,
    /// What the `locations` clause names.
    pub locations: Vec<Reference>,
    /// The question at the end; a test may only list `locations`.
    pub condition: Option<(Quantifier, Prop<Reference>)>,
    /// The text of all names.
    pub names: Names,
}

/// The initial value of a location.
#[derive(Clone, Debug)]
pub struct Init {
    /// The location.
    pub name: Symbol,
    /// Where its name stands.
    pub pos: Pos,
    /// Its type, if the initial state says.
    pub ty: Option<Type>,
    /// What it holds.
    pub value: i64,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Where its name stands.
    pub pos: Pos,
    /// Where its last brace stands.
    pub end: Pos,
    /// The locations it can reach.
    pub params: Vec<Param>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// The names that its body accesses, and whether by an atomic function. Registers may be among them.
    pub uses: FxHashMap<Symbol, bool>,
}

/// A parameter: a pointer to the location of that name.
#[derive(Clone, Debug)]
pub struct Param {
    /// The location.
    pub name: Symbol,
    /// Where its name stands.
    pub pos: Pos,
    /// The type of the location.
    pub ty: Type,
}

/// The type of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Type {
    pub int: Int,
    pub atomic: bool,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.atomic { "_Atomic " } else { "" }, self.int)
    }
}

/// A statement.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Stmt {
    Empty,
    Declare { ty: Int, items: Vec<Declarator> },
    Expr(Expr),
    Block(Vec<Stmt>),
    If { condition: Expr, then: Box<Stmt>, otherwise: Option<Box<Stmt>> },
    While { pos: Pos, condition: Expr, body: Box<Stmt> },
    DoWhile { pos: Pos, body: Box<Stmt>, condition: Expr },
    For { pos: Pos, init: Box<Stmt>, condition: Option<Expr>, step: Option<Expr>, body: Box<Stmt> },
    Break(Pos),
    Continue(Pos),
    Return,
}

/// One register of a declaration.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Declarator {
    pub name: Symbol,
    pub pos: Pos,
    pub value: Option<Expr>,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Where it starts; for a binary operator, where the operator stands.
    pub pos: Pos,
    /// The longest path to a leaf: what a recursive walk costs.
    pub(crate) height: u32,
    /// May it change a register?
    pub(crate) writes: bool,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ExprKind {
    Literal {
        value: i64,
        ty: Int,
    },
    Name(Symbol),
    /// `*x`
    Deref(Symbol),
    /// `&r`
    AddressOf(Symbol),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a && b`, or `a || b`
    Logical {
        and: bool,
        sides: Box<[Expr; 2]>,
    },
    /// `a ? b : c`
    Choice(Box<[Expr; 3]>),
    /// `a = b`, or `a += b` and the like
    Assign {
        target: Box<Expr>,
        op: Option<BinaryOp>,
        value: Box<Expr>,
    },
    /// `++a`, `--a`, `a++`, `a--`
    Step {
        target: Box<Expr>,
        up: bool,
        prefix: bool,
    },
    /// `(type) a`; no type for `(void) a`
    Cast(Option<Int>, Box<Expr>),
    Call {
        function: Symbol,
        args: Vec<Expr>,
    },
    /// `a, b`
    Comma(Box<[Expr; 2]>),
}

/// An operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    Complement,
    Not,
}

/// An operator with two operands, both of which are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A proposition over final values of `V`s.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Prop<V> {
    Constant(bool),
    /// `var = value`
    Equals {
        var: V,
        value: i64,
    },
    Not(Box<Prop<V>>),
    And(Vec<Prop<V>>),
    Or(Vec<Prop<V>>),
}

/// A register or a location, as the end of a file names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The thread of a register (`0:r0`); none for a location.
    pub thread: Option<u32>,
    /// Its name.
    pub name: Symbol,
    /// Where it stands.
    pub pos: Pos,
}
