//! Any text as a PartiQL statement: it is refused with a message or works, alone, in a batch and in a
//! transaction; and what has a meaning prints to something that means the same.

#![no_main]

use std::sync::OnceLock;

use keyloom_core::error::message::partiql::TOO_DEEP;
use keyloom_core::partiql::lexer::{self, Token, TokenKind};
use keyloom_core::partiql::{Statement, bind, parse};
use keyloom_engine::{
    BatchExecuteStatementInput, Database, ExecuteStatementInput, ExecuteTransactionInput,
    StatementInput,
};
use libfuzzer_sys::fuzz_target;

/// Two tables with a few items; every input works on a copy.
fn database() -> &'static Database {
    static DATABASE: OnceLock<Database> = OnceLock::new();
    DATABASE.get_or_init(|| {
        let database = Database::memory();
        let table = br#"{"TableName":"music","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},
                {"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"N"}],
            "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
            "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"KEYS_ONLY"},
                "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}]}"#;
        database.call("DynamoDB_20120810.CreateTable", table);
        for sk in ["1", "2"] {
            let text = format!("INSERT INTO music VALUE {{'pk': 'a', 'sk': '{sk}', 'g': 1, 'l': [1]}}");
            let statement = StatementInput::new(text);
            let input = ExecuteStatementInput { statement, ..Default::default() };
            let _ = database.execute_statement(input);
        }
        database
    })
}

/// What a statement means, with as many parameters as it has.
fn meaning(text: &str) -> Result<Statement, keyloom_core::Error> {
    let tokens = lexer::tokens(text)?;
    let is_parameter = |token: &&Token| matches!(token.kind, TokenKind::Parameter(_));
    let count = tokens.iter().filter(is_parameter).count();
    bind(&parse(text)?, vec!["a".into(); count])
}

fuzz_target!(|text: &str| {
    if let (Ok(meant), Ok(statement)) = (meaning(text), parse(text)) {
        let printed = statement.to_string();
        match meaning(&printed) {
            Ok(again) => assert_eq!(again, meant, "{printed}"),
            // Printing spells out parentheses, which may push the statement over the limit of depth.
            Err(error) => assert!(error.message().ends_with(TOO_DEEP), "{printed}: {error}"),
        }
    }
    let Some(database) = database().fork() else { return };
    let statement = || StatementInput::new(text);
    let single = ExecuteStatementInput { statement: statement(), limit: Some(1), ..Default::default() };
    if let Ok(page) = database.execute_statement(single) {
        let next = ExecuteStatementInput {
            statement: statement(),
            next_token: page.next_token,
            ..Default::default()
        };
        let _ = database.execute_statement(next);
    }
    let batch = BatchExecuteStatementInput { statements: vec![statement()], ..Default::default() };
    let _ = database.batch_execute_statement(batch);
    let transaction =
        ExecuteTransactionInput { statements: vec![statement()], ..Default::default() };
    let _ = database.execute_transaction(transaction);
});
