//! Which attributes a read returns: `ProjectionExpression`, or the legacy `AttributesToGet`.

use keyloom_core::expr::{Bindings, ExpressionKind, Parameters, Projection};
use keyloom_core::legacy;
use keyloom_core::{Result, Str};

use crate::expression::ExpressionWriter;
use crate::{Constraints, Expression, Fields, JsonWriter};

/// The projection parameters of a read.
#[derive(Clone, Debug, Default)]
pub struct ProjectionInput {
    /// `ProjectionExpression`.
    pub expression: Option<Expression<Projection>>,
    /// `ExpressionAttributeNames`.
    pub names: Option<Vec<(Str, Str)>>,
    /// The legacy `AttributesToGet`.
    pub attributes_to_get: Option<Vec<Str>>,
}

impl ProjectionInput {
    /// Decodes the parameters.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        let attributes_to_get = fields.strings("AttributesToGet");
        if let Some(names) = &attributes_to_get {
            constraints.count(names.len(), "[]", "attributesToGet", 1, usize::MAX);
        }
        Self {
            expression: fields.string("ProjectionExpression").map(Expression::from),
            names: fields.string_map("ExpressionAttributeNames"),
            attributes_to_get,
        }
    }

    /// Checks which parameters go together in a request whose only expression this is.
    pub fn check_parameters(&self) -> Result<()> {
        Parameters {
            expressions: &[(ExpressionKind::Projection, self.expression.is_some())],
            legacy: &[("AttributesToGet", self.attributes_to_get.is_some())],
            names: self.names.is_some(),
            values: false,
        }
        .check()
    }

    /// The projection of a request that has no other expression.
    pub fn alone(&self) -> Result<Option<Projection>> {
        let Some(expression) = &self.expression else { return self.legacy() };
        let mut bindings = Bindings::new(self.names.clone(), None)?;
        let projection = expression.projection(&mut bindings)?;
        bindings.finish()?;
        Ok(Some(projection))
    }

    /// The projection that the legacy parameter states.
    pub fn legacy(&self) -> Result<Option<Projection>> {
        self.attributes_to_get.clone().map(legacy::attributes_to_get).transpose()
    }

    /// Writes the parameters of a request that has no other expression.
    pub(crate) fn write_members(&self, json: &mut JsonWriter) {
        let mut writer = ExpressionWriter::new(json, self.names.as_ref(), None);
        writer.projection(self.expression.as_ref());
        writer.finish();
        if let Some(names) = &self.attributes_to_get {
            json.strings("AttributesToGet", names);
        }
    }
}
