//! Parses statements, which begin with a keyword.

use super::super::ast::{
    Action, Delete, Expr, ExprKind, From, Insert, PathStep, Projection, Returning, ReturningScope,
    Select, Statement, Update,
};
use super::super::lexer::TokenKind;
use super::{Parser, unexpected_keyword};
use crate::error::message::partiql as message;
use crate::error::{Error, Result};

impl Parser {
    /// Parses the statement that begins with `keyword`, the next token; `None` if there is no such
    /// statement.
    pub(super) fn statement(&mut self, keyword: &str) -> Result<Option<Expr>> {
        let span = self.span();
        let statement = match keyword {
            "select" => {
                self.advance();
                let select = self.select()?;
                return Ok(Some(Expr { kind: ExprKind::Select(Box::new(select)), span }));
            }
            "insert_into" => Statement::Insert(self.insert()?),
            "update" => {
                self.advance();
                self.update()?
            }
            "delete" => {
                self.advance();
                self.delete()?
            }
            "from" => {
                self.advance();
                self.update_from_first()?
            }
            "set" | "remove" => return Err(message::malformed("Expected data manipulation")),
            "create" | "drop" => return Err(self.definition(keyword)),
            "values" => return self.values().map(Some),
            _ => return Ok(None),
        };
        Ok(Some(Expr { kind: ExprKind::Write(Box::new(statement)), span }))
    }

    fn select(&mut self) -> Result<Select> {
        let distinct = self.eat_word("distinct");
        if !distinct {
            self.eat_word("all");
        }
        let projection = if self.eat_word("value") {
            Projection::Value(self.expression(0)?)
        } else {
            self.projection()?
        };
        if !self.eat_word("from") {
            return Err(message::malformed("Expected FROM after SELECT list"));
        }
        let source = self.expression(0)?;
        let alias = self.aliases()?;
        let joined = self.skip_joins()?;
        let filter = self.filter()?;
        let mut unsupported = None;
        if self.at_word("group") {
            unsupported = Some(("GROUP BY", self.advance()));
            self.eat_word("partial");
            self.expect_by()?;
            self.expressions()?;
        }
        let mut clause = |parser: &mut Self, word, name| -> Result<()> {
            if parser.eat_word(word) {
                let span = parser.expression(0)?.span;
                unsupported = unsupported.or(Some((name, span)));
            }
            Ok(())
        };
        clause(self, "having", "HAVING")?;
        let order = self.order()?;
        clause(self, "limit", "LIMIT")?;
        clause(self, "offset", "OFFSET")?;
        let from = From { source, alias, joined };
        Ok(Select { distinct, projection, from, filter, unsupported, order })
    }

    fn projection(&mut self) -> Result<Projection> {
        let columns = self.comma_list(|parser| {
            if parser.eat_sign('*') {
                return Ok(None);
            }
            let expr = parser.expression(0)?;
            check_column(&expr)?;
            let alias = parser.alias("as")?;
            Ok(Some((expr, alias)))
        })?;
        let count = columns.len();
        let columns: Vec<_> = columns.into_iter().flatten().collect();
        match columns.len() {
            0 if count == 1 => Ok(Projection::All),
            named if named == count => Ok(Projection::Columns(columns)),
            _ => Err(message::malformed(
                "Other expressions may not be present in the select list when '*' is used without \
                 dot notation.",
            )),
        }
    }

    /// Parses joins only as far as needed to detect them.
    fn skip_joins(&mut self) -> Result<bool> {
        let starts = |parser: &Self| {
            let words = ["join", "inner", "left", "right", "full", "outer", "cross"];
            parser.at_sign(',') || parser.word(0).is_some_and(|word| words.contains(&word))
        };
        let mut joined = false;
        while starts(self) {
            joined = true;
            while starts(self) {
                self.advance();
            }
            self.expression(0)?;
            self.aliases()?;
            if self.eat_word("on") {
                self.expression(0)?;
            }
        }
        Ok(joined)
    }

    fn order(&mut self) -> Result<Vec<(Expr, bool)>> {
        if !self.eat_word("order") {
            return Ok(Vec::new());
        }
        self.expect_by()?;
        self.comma_list(|parser| {
            let expr = parser.expression(0)?;
            let falls = parser.eat_word("desc");
            if !falls {
                parser.eat_word("asc");
            }
            Ok((expr, falls))
        })
    }

    fn expect_by(&mut self) -> Result<()> {
        if self.eat_word("by") { Ok(()) } else { Err(message::malformed("Expected BY")) }
    }

    fn filter(&mut self) -> Result<Option<Expr>> {
        if self.eat_word("where") { self.expression(0).map(Some) } else { Ok(None) }
    }

    /// Whether an alias with this keyword is next. `AS` itself may be omitted.
    fn alias(&mut self, keyword: &str) -> Result<bool> {
        if self.eat_word(keyword) {
            if self.name().is_none() {
                let keyword = keyword.to_uppercase();
                return Err(message::malformed(format_args!(
                    "Expected identifier for {keyword}-alias"
                )));
            }
        } else if keyword != "as" || self.name().is_none() {
            return Ok(false);
        }
        self.advance();
        Ok(true)
    }

    fn aliases(&mut self) -> Result<bool> {
        Ok(self.alias("as")? | self.alias("at")? | self.alias("by")?)
    }

    fn insert(&mut self) -> Result<Insert> {
        self.advance();
        let target = self.simple_path()?;
        let single = self.eat_word("value");
        let value = self.expression(0)?;
        let at = single && self.eat_word("at");
        if at {
            self.expression(0)?;
        }
        let returning = if single { self.returning()? } else { Vec::new() };
        Ok(Insert { target, value, single, at, returning })
    }

    /// `VALUES (…), (…)`: the items of an insert.
    fn values(&mut self) -> Result<Expr> {
        let span = self.advance();
        let rows = self.comma_list(|parser| {
            if !parser.at_sign('(') {
                let expected = "Expected LEFT_PAREN for row value constructor";
                return Err(message::malformed(expected));
            }
            let span = parser.advance();
            let members = parser.expressions()?;
            parser.expect_sign(')')?;
            Ok(Expr { kind: ExprKind::List(members), span })
        })?;
        Ok(Expr { kind: ExprKind::Bag(rows), span })
    }

    fn written_table(&mut self) -> Result<From> {
        let source = self.simple_path()?;
        Ok(From { source, alias: self.aliases()?, joined: false })
    }

    fn update(&mut self) -> Result<Statement> {
        let from = self.written_table()?;
        let actions = self.actions()?;
        let filter = self.filter()?;
        let returning = self.returning()?;
        Ok(Statement::Update(Update { from, actions, filter, returning, from_first: false }))
    }

    fn delete(&mut self) -> Result<Statement> {
        if !self.eat_word("from") {
            return Err(message::malformed("Expected FROM after DELETE"));
        }
        let from = self.written_table()?;
        let filter = self.filter()?;
        let returning = self.returning()?;
        Ok(Statement::Delete(Delete { from, filter, returning }))
    }

    /// `FROM table WHERE … SET …`: an update in another order.
    fn update_from_first(&mut self) -> Result<Statement> {
        let source = self.expression(0)?;
        let alias = self.aliases()?;
        let joined = self.skip_joins()?;
        let filter = self.filter()?;
        let actions = self.actions()?;
        let returning = self.returning()?;
        let from = From { source, alias, joined };
        Ok(Statement::Update(Update { from, actions, filter, returning, from_first: true }))
    }

    fn actions(&mut self) -> Result<Vec<Action>> {
        let mut actions = Vec::new();
        loop {
            if self.at_word("insert_into") {
                actions.push(Action::Insert(Box::new(self.insert()?)));
            } else if self.eat_word("set") {
                actions.push(Action::Set(self.comma_list(Self::assignment)?));
            } else if self.eat_word("remove") {
                actions.push(Action::Remove(self.simple_path()?));
            } else if actions.is_empty() {
                return Err(message::malformed("Expected data manipulation"));
            } else {
                return Ok(actions);
            }
        }
    }

    fn assignment(&mut self) -> Result<(Expr, Expr)> {
        let target = self.simple_path()?;
        if *self.kind(0) != TokenKind::Operator("=") {
            return Err(message::malformed("Expected '='"));
        }
        self.advance();
        Ok((target, self.expression(0)?))
    }

    fn returning(&mut self) -> Result<Vec<Returning>> {
        if !self.eat_word("returning") {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            let scope = match parser.word(0) {
                Some("all_old") => ReturningScope::AllOld,
                Some("all_new") => ReturningScope::AllNew,
                Some("modified_old") => ReturningScope::ModifiedOld,
                Some("modified_new") => ReturningScope::ModifiedNew,
                _ => {
                    return Err(message::malformed(
                        "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
                    ));
                }
            };
            parser.advance();
            let all_columns = parser.eat_sign('*');
            if !all_columns {
                parser.expression(0)?;
            }
            Ok(Returning { scope, all_columns })
        })
    }

    /// `CREATE TABLE` and similar: part of PartiQL, but not of DynamoDB's.
    fn definition(&self, verb: &str) -> Error {
        match (verb, self.word(1)) {
            ("create", Some("table")) => message::unsupported_operation("CreateTable"),
            ("create", Some("index")) => message::unsupported_operation("CreateIndex"),
            ("drop", Some("table")) => message::unsupported_operation("DropTable"),
            ("drop", Some("index")) => message::unsupported_operation("DropIndex"),
            ("create" | "drop", _) => message::malformed(format_args!(
                "Unexpected token following {}",
                verb.to_uppercase()
            )),
            _ => unexpected_keyword(),
        }
    }
}

/// `*` in a column may only be its last step, and only after names.
fn check_column(column: &Expr) -> Result<()> {
    let ExprKind::Path(_, steps) = &column.kind else { return Ok(()) };
    let last = steps.len() - 1;
    let misplaced = |(position, step): (usize, &PathStep)| match step {
        PathStep::Wildcard => true,
        PathStep::Unpivot => position < last,
        _ => false,
    };
    if steps.iter().enumerate().any(misplaced) {
        return Err(message::malformed("Invalid use of * in select list"));
    }
    let all = matches!(steps.last(), Some(PathStep::Unpivot));
    if all && steps.iter().any(|step| matches!(step, PathStep::Index(_))) {
        return Err(message::malformed("Cannot use [] and * together in SELECT list expression"));
    }
    Ok(())
}
