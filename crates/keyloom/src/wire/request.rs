//! Typed inputs as request bodies.

use keyloom_engine::{
    BatchGetItemInput, BatchWriteItemInput, ConditionInput, DeleteItemInput, GetItemInput,
    ProjectionInput, PutItemInput, QueryInput, ReadInput, ReturnValues, ScanInput, Select,
    TransactAction, TransactEdit, TransactGetItemsInput, TransactWriteItemsInput, UpdateItemInput,
    WriteRequest, WriteReturns,
};

use super::Object;

/// An input that can be sent.
pub(crate) trait Request {
    /// The operation's name.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "nothing is sent"))]
    const OPERATION: &'static str;

    fn fill(&self, body: &mut Object);

    fn body(&self) -> Vec<u8> {
        let mut body = Object::new();
        self.fill(&mut body);
        body.finish()
    }

    /// The same, asking what it costs on the table and on each index.
    #[cfg(feature = "remote")]
    fn body_with_account(&self) -> Vec<u8> {
        let mut body = Object::new();
        self.fill(&mut body);
        body.string("ReturnConsumedCapacity", "INDEXES");
        body.finish()
    }
}

fn condition(body: &mut Object, condition: &ConditionInput) {
    body.optional_string("ConditionExpression", condition.expression.as_deref());
    body.names(condition.names.as_deref());
    body.values(condition.values.as_deref());
}

fn projection(body: &mut Object, projection: &ProjectionInput) {
    body.optional_string("ProjectionExpression", projection.expression.as_deref());
    body.names(projection.names.as_deref());
}

fn returned(body: &mut Object, returns: WriteReturns) {
    let name = match returns.values {
        ReturnValues::None => None,
        ReturnValues::AllOld => Some("ALL_OLD"),
        ReturnValues::UpdatedOld => Some("UPDATED_OLD"),
        ReturnValues::AllNew => Some("ALL_NEW"),
        ReturnValues::UpdatedNew => Some("UPDATED_NEW"),
    };
    body.optional_string("ReturnValues", name);
    item_on_failure(body, returns.item_on_failure);
}

fn item_on_failure(body: &mut Object, wanted: bool) {
    if wanted {
        body.string("ReturnValuesOnConditionCheckFailure", "ALL_OLD");
    }
}

fn consistent(body: &mut Object, consistent: bool) {
    if consistent {
        body.boolean("ConsistentRead", true);
    }
}

impl Request for GetItemInput {
    const OPERATION: &'static str = "GetItem";

    fn fill(&self, body: &mut Object) {
        body.string("TableName", &self.table_name);
        body.item("Key", &self.key);
        consistent(body, self.consistent_read);
        projection(body, &self.projection);
    }
}

impl Request for PutItemInput {
    const OPERATION: &'static str = "PutItem";

    fn fill(&self, body: &mut Object) {
        body.string("TableName", &self.table_name);
        body.item("Item", &self.item);
        condition(body, &self.condition);
        returned(body, self.returns);
    }
}

impl Request for DeleteItemInput {
    const OPERATION: &'static str = "DeleteItem";

    fn fill(&self, body: &mut Object) {
        body.string("TableName", &self.table_name);
        body.item("Key", &self.key);
        condition(body, &self.condition);
        returned(body, self.returns);
    }
}

impl Request for UpdateItemInput {
    const OPERATION: &'static str = "UpdateItem";

    fn fill(&self, body: &mut Object) {
        body.string("TableName", &self.table_name);
        body.item("Key", &self.key);
        body.optional_string("UpdateExpression", self.update.as_deref());
        condition(body, &self.condition);
        returned(body, self.returns);
    }
}

fn read(body: &mut Object, read: &ReadInput) {
    body.string("TableName", &read.table_name);
    body.optional_string("IndexName", read.index_name.as_deref());
    if let Some(limit) = read.limit {
        body.number("Limit", limit);
    }
    let select = read.select.map(|select| match select {
        Select::AllAttributes => "ALL_ATTRIBUTES",
        Select::AllProjected => "ALL_PROJECTED_ATTRIBUTES",
        Select::Specific => "SPECIFIC_ATTRIBUTES",
        Select::Count => "COUNT",
    });
    body.optional_string("Select", select);
    if let Some(key) = &read.exclusive_start_key {
        body.item("ExclusiveStartKey", key);
    }
    consistent(body, read.consistent_read);
    body.optional_string("FilterExpression", read.filter.as_deref());
    projection(body, &read.projection);
    body.values(read.values.as_deref());
}

impl Request for QueryInput {
    const OPERATION: &'static str = "Query";

    fn fill(&self, body: &mut Object) {
        read(body, &self.read);
        body.optional_string("KeyConditionExpression", self.key_condition.as_deref());
        if !self.forward {
            body.boolean("ScanIndexForward", false);
        }
    }
}

impl Request for ScanInput {
    const OPERATION: &'static str = "Scan";

    fn fill(&self, body: &mut Object) {
        read(body, &self.read);
        if let Some((segment, total)) = self.segment {
            body.number("Segment", segment as usize);
            body.number("TotalSegments", total as usize);
        }
    }
}

impl Request for BatchGetItemInput {
    const OPERATION: &'static str = "BatchGetItem";

    fn fill(&self, body: &mut Object) {
        body.object("RequestItems", |tables| {
            for keys in &self.tables {
                tables.object(&keys.table_name, |table| {
                    table.items("Keys", &keys.keys);
                    consistent(table, keys.consistent_read);
                    projection(table, &keys.projection);
                });
            }
        });
    }
}

impl Request for BatchWriteItemInput {
    const OPERATION: &'static str = "BatchWriteItem";

    fn fill(&self, body: &mut Object) {
        let mut tables: Vec<&str> = Vec::new();
        for (table, _) in &self.requests {
            if !tables.contains(&table.as_str()) {
                tables.push(table);
            }
        }
        body.object("RequestItems", |object| {
            for name in tables {
                let requests = self.requests.iter().filter(|(table, _)| table == name);
                object.list(name, requests, |object, (_, request)| match request {
                    WriteRequest::Put(item) => {
                        object.object("PutRequest", |put| put.item("Item", item));
                    }
                    WriteRequest::Delete(key) => {
                        object.object("DeleteRequest", |delete| delete.item("Key", key));
                    }
                });
            }
        });
    }
}

fn action(body: &mut Object, action: &TransactAction) {
    let name = match &action.edit {
        TransactEdit::Put(_) => "Put",
        TransactEdit::Update(..) => "Update",
        TransactEdit::Delete(_) => "Delete",
        TransactEdit::Check(_) => "ConditionCheck",
    };
    body.object(name, |body| {
        body.string("TableName", &action.table_name);
        match &action.edit {
            TransactEdit::Put(item) => body.item("Item", item),
            TransactEdit::Update(key, update) => {
                body.item("Key", key);
                body.string("UpdateExpression", update);
            }
            TransactEdit::Delete(key) | TransactEdit::Check(key) => body.item("Key", key),
        }
        condition(body, &action.condition);
        item_on_failure(body, action.return_item_on_failure);
    });
}

impl Request for TransactWriteItemsInput {
    const OPERATION: &'static str = "TransactWriteItems";

    fn fill(&self, body: &mut Object) {
        body.list("TransactItems", &self.actions, action);
        body.optional_string("ClientRequestToken", self.client_request_token.as_deref());
    }
}

impl Request for TransactGetItemsInput {
    const OPERATION: &'static str = "TransactGetItems";

    fn fill(&self, body: &mut Object) {
        body.list("TransactItems", &self.gets, |body, get| {
            body.object("Get", |body| {
                body.string("TableName", &get.table_name);
                body.item("Key", &get.key);
                projection(body, &get.projection);
            });
        });
    }
}
