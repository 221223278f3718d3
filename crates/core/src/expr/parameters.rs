//! Checks which parameters of a request may be combined.

use super::ExpressionKind;
use crate::error::{Result, message::expression};

/// The expression and legacy parameters of a request.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// All expressions of the operation in AWS's order, each with whether the request has it.
    pub expressions: &'a [(ExpressionKind, bool)],
    /// All legacy parameters of the operation in AWS's order, each with whether the request has it.
    pub legacy: &'a [(&'a str, bool)],
    /// Whether the request has `ExpressionAttributeNames`.
    pub names: bool,
    /// Whether the request has `ExpressionAttributeValues`.
    pub values: bool,
}

impl Parameters<'_> {
    /// Refuses expressions combined with legacy parameters, and names and values without an
    /// expression.
    pub fn check(&self) -> Result<()> {
        let present = |kind| self.expressions.contains(&(kind, true));
        // `KeyConditions` may be combined with a filter or projection expression, but not with a
        // `KeyConditionExpression`.
        let conflicts = |(name, is_present): &(&str, bool)| {
            *is_present && (*name != "KeyConditions" || present(ExpressionKind::KeyCondition))
        };
        let has_expression = self.expressions.iter().any(|(_, present)| *present);
        if has_expression && self.legacy.iter().any(conflicts) {
            let legacy = self.legacy.iter().filter(|one| conflicts(one)).map(|(name, _)| *name);
            let expressions = self.expressions.iter().filter(|(_, present)| *present);
            let expressions = expressions.map(|(kind, _)| kind.parameter());
            return Err(expression::mixed_parameters(
                &legacy.collect::<Vec<_>>(),
                &expressions.collect::<Vec<_>>(),
            ));
        }
        if self.names && !has_expression {
            return Err(expression::names_without_expression());
        }
        let with_values =
            || self.expressions.iter().filter(|(kind, _)| *kind != ExpressionKind::Projection);
        let unused = with_values().all(|(_, present)| !*present);
        if self.values && unused && with_values().next().is_some() {
            let names: Vec<&str> = with_values().map(|(kind, _)| kind.parameter()).collect();
            return Err(expression::values_without_expression(&names));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExpressionKind::{Condition, Filter, KeyCondition, Projection, Update};
    use super::*;

    fn check(
        expressions: &[(ExpressionKind, bool)],
        legacy: &[(&str, bool)],
        (names, values): (bool, bool),
    ) -> Option<String> {
        let parameters = Parameters { expressions, legacy, names, values };
        parameters.check().err().map(|error| error.message())
    }

    #[test]
    fn expressions_and_legacy_parameters_do_not_mix() {
        let expressions = [(Projection, true), (Filter, false), (KeyCondition, true)];
        let legacy = [("AttributesToGet", true), ("QueryFilter", false), ("KeyConditions", true)];
        assert_eq!(
            check(&expressions, &legacy, (false, false)).as_deref(),
            Some(
                "Can not use both expression and non-expression parameters in the same request: \
                 Non-expression parameters: {AttributesToGet, KeyConditions} \
                 Expression parameters: {ProjectionExpression, KeyConditionExpression}"
            )
        );
        let with_filter = [(Projection, true), (Filter, true), (KeyCondition, false)];
        assert_eq!(check(&with_filter, &[("KeyConditions", true)], (true, true)), None);
    }

    #[test]
    fn names_and_values_need_an_expression() {
        let update = [(Update, false), (Condition, false)];
        assert_eq!(
            check(&update, &[], (true, true)).as_deref(),
            Some("ExpressionAttributeNames can only be specified when using expressions")
        );
        assert_eq!(
            check(&update, &[], (false, true)).as_deref(),
            Some(
                "ExpressionAttributeValues can only be specified when using expressions: \
                 UpdateExpression and ConditionExpression are null"
            )
        );
        assert_eq!(
            check(&[(Condition, false)], &[], (false, true)).as_deref(),
            Some(
                "ExpressionAttributeValues can only be specified when using expressions: \
                 ConditionExpression is null"
            )
        );
        assert_eq!(
            check(&[(Projection, true), (Filter, false)], &[], (true, true)).as_deref(),
            Some(
                "ExpressionAttributeValues can only be specified when using expressions: \
                 FilterExpression is null"
            )
        );
    }
}
