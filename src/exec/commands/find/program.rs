//! An expression as a list of steps with jumps, so that it can stop in its middle for a command
//! and go on behind it.

use super::act::Act;
use super::tests::Test;

/// A step. Tests and acts set the answer that jumps look at.
#[derive(Debug)]
pub(super) enum Step {
    Test(Test),
    Act(Act),
    Not,
    /// Jumps that are taken if the answer is no, or yes.
    IfNo(usize),
    IfYes(usize),
}

/// A word of an expression.
pub(super) enum Token<'a> {
    Open,
    Close,
    Not(&'a str),
    And(&'a str),
    Or(&'a str),
    Comma,
    Leaf(Step),
}

/// Makes the steps. `Err` says what is wrong, in GNU's words.
pub(super) fn compile(tokens: Vec<Token<'_>>) -> Result<Vec<Step>, String> {
    let mut compiler = Compiler { rest: tokens.into_iter().peekable(), steps: Vec::new() };
    if compiler.rest.peek().is_some() {
        compiler.list(None)?;
    }
    if compiler.rest.peek().is_some() { Err("you have too many ')'".to_owned()) } else { Ok(compiler.steps) }
}

struct Compiler<'a> {
    rest: std::iter::Peekable<std::vec::IntoIter<Token<'a>>>,
    steps: Vec<Step>,
}

const OPEN: &str = "(";

impl<'a> Compiler<'a> {
    /// `before` is the operator or bracket that an expression must follow.
    fn list(&mut self, mut before: Option<&'a str>) -> Result<(), String> {
        loop {
            self.any(before)?;
            if self.rest.next_if(|token| matches!(token, Token::Comma)).is_none() {
                return Ok(());
            }
            before = Some(",");
        }
    }

    fn any(&mut self, mut before: Option<&'a str>) -> Result<(), String> {
        let mut jumps = Vec::new();
        loop {
            self.all(before)?;
            let Some(Token::Or(word)) = self.rest.next_if(|token| matches!(token, Token::Or(_))) else {
                break;
            };
            before = Some(word);
            jumps.push(self.steps.len());
            self.steps.push(Step::IfYes(0));
        }
        self.land(&jumps);
        Ok(())
    }

    fn all(&mut self, mut before: Option<&'a str>) -> Result<(), String> {
        let mut jumps = Vec::new();
        loop {
            self.one(before)?;
            match self.rest.peek() {
                Some(Token::And(word)) => {
                    before = Some(word);
                    self.rest.next();
                }
                Some(Token::Leaf(_) | Token::Open | Token::Not(_)) => before = None,
                Some(Token::Close | Token::Or(_) | Token::Comma) | None => break,
            }
            jumps.push(self.steps.len());
            self.steps.push(Step::IfNo(0));
        }
        self.land(&jumps);
        Ok(())
    }

    fn land(&mut self, jumps: &[usize]) {
        let here = self.steps.len();
        for &jump in jumps {
            if let Step::IfNo(to) | Step::IfYes(to) = &mut self.steps[jump] {
                *to = here;
            }
        }
    }

    fn one(&mut self, mut before: Option<&'a str>) -> Result<(), String> {
        let mut negated = false;
        while let Some(Token::Not(word)) = self.rest.next_if(|token| matches!(token, Token::Not(_))) {
            negated = !negated;
            before = Some(word);
        }
        match (self.rest.next(), before) {
            (Some(Token::Leaf(step)), _) => self.steps.push(step),
            (Some(Token::Open), _) => {
                self.list(Some(OPEN))?;
                if self.rest.next_if(|token| matches!(token, Token::Close)).is_none() {
                    return Err(
                        "invalid expression; I was expecting to find a ')' somewhere but did not see one."
                            .to_owned(),
                    );
                }
            }
            (Some(Token::And(word) | Token::Or(word)), _) => return Err(nothing_before(word)),
            (Some(Token::Comma), _) => return Err(nothing_before(",")),
            (Some(Token::Close), Some(OPEN)) => {
                return Err("invalid expression; empty parentheses are not allowed.".to_owned());
            }
            (Some(Token::Close), Some(word)) => {
                return Err(format!("expected an expression between '{word}' and ')'"));
            }
            (None, Some(OPEN)) => {
                return Err(
                    "invalid expression; expected to find a ')' but didn't see one. Perhaps you need \
                            an extra predicate after '('"
                        .to_owned(),
                );
            }
            (None, Some(word)) => return Err(format!("expected an expression after '{word}'")),
            (Some(Token::Close | Token::Not(_)) | None, None) => {
                return Err("you have too many ')'".to_owned());
            }
            (Some(Token::Not(_)), _) => return Err("invalid expression".to_owned()),
        }
        if negated {
            self.steps.push(Step::Not);
        }
        Ok(())
    }
}

fn nothing_before(word: &str) -> String {
    format!("invalid expression; you have used a binary operator '{word}' with nothing before it.")
}
