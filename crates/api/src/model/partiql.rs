//! The input shapes of the operations that run PartiQL.

use super::Shape::{Boolean, Integer, List, Struct, Text, Value};
use super::structures;

structures! {
    BatchExecuteStatement {
        Statements: List(&Struct(&BatchStatementRequest)), ReturnConsumedCapacity: Text,
    }
    ExecuteStatement {
        Statement: Text, Parameters: List(&Value), ConsistentRead: Boolean, NextToken: Text,
        ReturnConsumedCapacity: Text, Limit: Integer, ReturnValuesOnConditionCheckFailure: Text,
    }
    ExecuteTransaction {
        TransactStatements: List(&Struct(&ParameterizedStatement)), ClientRequestToken: Text,
        ReturnConsumedCapacity: Text,
    }
    BatchStatementRequest {
        Statement: Text, Parameters: List(&Value), ConsistentRead: Boolean,
        ReturnValuesOnConditionCheckFailure: Text,
    }
    ParameterizedStatement {
        Statement: Text, Parameters: List(&Value), ReturnValuesOnConditionCheckFailure: Text,
    }
}
