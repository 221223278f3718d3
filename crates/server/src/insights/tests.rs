//! One answer in three encodings, one question in three, and what is refused.

use hyper::Request;
use keyloom_engine::Reply;
use keyloom_engine::insights::{
    Contributions, Contributor, InsightKind, InsightRule, InsightSpan, NotCounted, PeriodValues,
    Rank,
};

use super::*;

const RULE: &str = "DynamoDBContributorInsights-SKC-t-1700000000000";
const MINUTE_MS: u64 = 1_700_000_040_000;

/// Has two rules, of which only the first has a report: what was asked, in numbers.
struct Stub;

impl Backend for Stub {
    fn call(&self, _: &str, _: &[u8]) -> Reply {
        unreachable!("nothing is asked of DynamoDB")
    }

    fn insight_rules(&self) -> Vec<InsightRule> {
        let rule = |kind: InsightKind, table: &str| InsightRule {
            name: format!("DynamoDBContributorInsights-{}-{table}-1700000000000", kind.code()),
            table: table.into(),
            index: None,
            kind,
            since_ms: 1_700_000_000_000,
        };
        vec![rule(InsightKind::ThrottledPartitions, "u"), rule(InsightKind::AccessedItems, "t")]
    }

    fn contributors(
        &self,
        rule: &InsightRule,
        span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        if rule.table == "u" {
            return Err(NotCounted::Nobody);
        }
        let by_maximum = span.rank == Rank::Maximum;
        let period = PeriodValues {
            start_ms: MINUTE_MS,
            distinct: 2.2,
            greatest_contributor: 6.0,
            samples: 4.0,
            sum: 9.0,
            minimum: 0.5,
            maximum: 3.0,
        };
        let contributor = Contributor {
            keys: vec!["a<&\0>".into(), format!("{by_maximum}")],
            value: span.count as f64 + 0.5,
            error: 1.0,
            points: vec![(MINUTE_MS, span.period_ms as f64)],
        };
        Ok(Contributions {
            total: (span.until_ms - span.from_ms) as f64,
            distinct: 2.2,
            contributors: vec![contributor],
            periods: vec![period],
        })
    }
}

fn head(path: &str, target: &str) -> Parts {
    Request::builder().uri(path).header("x-amz-target", target).body(()).unwrap().into_parts().0
}

fn asked(wire: Wire, operation: &str, body: &[u8]) -> Result<Asked, Unanswered> {
    let path = format!("/service/{SERVICE}/operation/{operation}");
    wire.asked(&head(&path, &format!("{SERVICE}.{operation}")), body)
}

fn input<const N: usize>(fields: [(&'static str, Value); N]) -> Asked {
    let input = Input::of(Value::record(fields)).unwrap();
    Asked { operation: "GetInsightRuleReport".into(), input }
}

/// A question that is answered, with some fields in place of its own.
fn question<const N: usize>(other: [(&'static str, Value); N]) -> Asked {
    let mut fields = vec![
        ("RuleName", RULE.into()),
        ("StartTime", Value::Time(1_700_000_000_000)),
        ("EndTime", Value::Time(1_700_000_600_000)),
        ("Period", Value::Whole(60)),
    ];
    fields.retain(|(name, _)| other.iter().all(|(known, _)| known != name));
    fields.extend(other.into_iter().filter(|(_, value)| *value != Value::Null));
    let fields = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Asked {
        operation: "GetInsightRuleReport".into(),
        input: Input::of(Value::Record(fields)).unwrap(),
    }
}

#[test]
fn one_question_reads_the_same_in_every_protocol() {
    let json =
        br#"{"RuleName": "r", "StartTime": 1700000000.5, "EndTime": 1700000600, "Period": 60,
        "Metrics": ["Sum", "Maximum"], "OrderBy": null}"#;
    let form = b"Action=GetInsightRuleReport&Version=2010-08-01&RuleName=r\
        &StartTime=2023-11-14T22%3A13%3A20.500Z&EndTime=2023-11-14T22%3A23%3A20Z&Period=60\
        &Metrics.member.2=Maximum&Metrics.member.1=Sum";
    let cbor = cbor::encode(&Value::record([
        ("RuleName", "r".into()),
        ("StartTime", Value::Time(1_700_000_000_500)),
        ("EndTime", Value::Time(1_700_000_600_000)),
        ("Period", Value::Whole(60)),
        ("Metrics", Value::list(["Sum", "Maximum"])),
    ]));
    for (wire, body) in [(Wire::Json, &json[..]), (Wire::Query, form), (Wire::Cbor, &cbor)] {
        let Asked { operation, input } = asked(wire, "GetInsightRuleReport", body).unwrap();
        assert_eq!(operation, "GetInsightRuleReport");
        assert_eq!(input.text("RuleName"), Ok(Some("r")), "{wire:?}");
        assert_eq!(input.time_ms("StartTime"), Ok(Some(1_700_000_000_500)), "{wire:?}");
        assert_eq!(input.time_ms("EndTime"), Ok(Some(1_700_000_600_000)), "{wire:?}");
        assert_eq!(input.whole("Period"), Ok(Some(60)), "{wire:?}");
        assert_eq!(input.texts("Metrics"), Ok(vec!["Sum", "Maximum"]), "{wire:?}");
        assert_eq!(input.text("OrderBy"), Ok(None), "{wire:?}");
    }
}

#[test]
fn an_empty_list_of_a_form_is_a_field_without_a_value() {
    let form = b"Action=GetInsightRuleReport&Version=2010-08-01&RuleName=&Metrics=&OrderBy=Sum";
    let Asked { input, .. } = query::asked(form).unwrap();
    assert_eq!(input.texts("Metrics"), Ok(vec![]));
    assert_eq!(input.text("RuleName"), Ok(None), "so that it is missed");
    assert_eq!(input.text("OrderBy"), Ok(Some("Sum")));
}

#[test]
fn an_empty_question_is_one_without_fields() {
    for (wire, body) in [
        (Wire::Json, &b""[..]),
        (Wire::Json, b"{}"),
        (Wire::Cbor, b""),
        (Wire::Cbor, b"\xa0"),
        (Wire::Query, b"Version=2010-08-01&Action=DescribeInsightRules"),
    ] {
        let asked = asked(wire, "DescribeInsightRules", body).unwrap();
        assert_eq!(asked.operation, "DescribeInsightRules");
        assert!(run(&Stub, &asked).is_ok(), "{wire:?}");
    }
}

#[test]
fn one_answer_is_written_in_every_protocol() {
    let metrics = Value::list(METRIC_NAMES);
    let answer = run(&Stub, &question([("Metrics", metrics)])).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json::encode(&answer)).unwrap();
    let expected = serde_json::json!({
        "KeyLabels": ["PartitionKey", "SortKey"],
        "AggregationStatistic": "Sum",
        "AggregateValue": 600_000.0,
        "ApproximateUniqueCount": 2,
        "Contributors": [{
            "Keys": ["a<&\0>", "false"],
            "ApproximateAggregateValue": 10.5,
            "Datapoints": [{"Timestamp": 1_700_000_040.0, "ApproximateValue": 60_000.0}],
        }],
        "MetricDatapoints": [{
            "Timestamp": 1_700_000_040.0, "UniqueContributors": 2.0, "MaxContributorValue": 6.0,
            "SampleCount": 4.0, "Sum": 9.0, "Minimum": 0.5, "Maximum": 3.0, "Average": 2.25,
        }],
    });
    assert_eq!(json, expected);
    assert_eq!(cbor::decode(&cbor::encode(&answer)), Ok(answer.clone()));
    let xml = query::encode("GetInsightRuleReport", &answer, "ID");
    let expected = "<GetInsightRuleReportResponse \
         xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\"><GetInsightRuleReportResult>\
         <KeyLabels><member>PartitionKey</member><member>SortKey</member></KeyLabels>\
         <AggregationStatistic>Sum</AggregationStatistic><AggregateValue>600000</AggregateValue>\
         <ApproximateUniqueCount>2</ApproximateUniqueCount><Contributors><member>\
         <Keys><member>a&lt;&amp;\u{fffd}&gt;</member><member>false</member></Keys>\
         <ApproximateAggregateValue>10.5</ApproximateAggregateValue><Datapoints><member>\
         <Timestamp>2023-11-14T22:14:00Z</Timestamp><ApproximateValue>60000</ApproximateValue>\
         </member></Datapoints></member></Contributors><MetricDatapoints><member>\
         <Timestamp>2023-11-14T22:14:00Z</Timestamp><UniqueContributors>2</UniqueContributors>\
         <MaxContributorValue>6</MaxContributorValue><SampleCount>4</SampleCount><Sum>9</Sum>\
         <Minimum>0.5</Minimum><Maximum>3</Maximum><Average>2.25</Average></member>\
         </MetricDatapoints></GetInsightRuleReportResult><ResponseMetadata>\
         <RequestId>ID</RequestId></ResponseMetadata></GetInsightRuleReportResponse>";
    assert_eq!(String::from_utf8(xml).unwrap(), expected);
}

#[test]
fn a_metric_that_is_asked_for_again_and_again_is_told_once() {
    let metrics = Value::list(std::iter::repeat_n(["Sum", "Maximum"], 8000).flatten());
    let answer = run(&Stub, &question([("Metrics", metrics)])).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json::encode(&answer)).unwrap();
    let point = serde_json::json!({"Timestamp": 1_700_000_040.0, "Sum": 9.0, "Maximum": 3.0});
    assert_eq!(json["MetricDatapoints"], serde_json::json!([point]));
    assert!(cbor::encode(&answer).len() < 1000);
}

const METRIC_NAMES: [&str; 7] = [
    "UniqueContributors",
    "MaxContributorValue",
    "SampleCount",
    "Sum",
    "Minimum",
    "Maximum",
    "Average",
];

#[test]
fn metrics_are_left_out_unless_asked_for_and_options_reach_the_question() {
    let options = [
        ("MaxContributorCount", Value::Whole(25)),
        ("OrderBy", "Maximum".into()),
        ("Period", Value::Whole(300)),
    ];
    let answer = run(&Stub, &question(options)).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json::encode(&answer)).unwrap();
    assert!(json.get("MetricDatapoints").is_none());
    let contributor = &json["Contributors"][0];
    assert_eq!(contributor["Keys"][1], "true");
    assert_eq!(contributor["ApproximateAggregateValue"], 25.5);
    assert_eq!(contributor["Datapoints"][0]["ApproximateValue"], 300_000.0);
}

#[test]
fn bad_questions_are_refused_with_their_reason() {
    let throttled = "DynamoDBContributorInsights-PKT-u-1700000000000";
    for (fields, code, says) in [
        (("RuleName", Value::Null), "MissingParameter", "RuleName is required"),
        (("StartTime", Value::Null), "MissingParameter", "StartTime is required"),
        (("Period", Value::Null), "MissingParameter", "Period is required"),
        (("EndTime", Value::Time(1_700_000_000_000)), "InvalidParameterValue", "less than"),
        (("Period", Value::Whole(90)), "InvalidParameterValue", "multiple of 60"),
        (("Period", Value::Whole(0)), "InvalidParameterValue", "multiple of 60"),
        (("MaxContributorCount", Value::Whole(26)), "InvalidParameterValue", "1 and 25"),
        (("MaxContributorCount", Value::Whole(0)), "InvalidParameterValue", "1 and 25"),
        (("OrderBy", "Average".into()), "InvalidParameterValue", "Sum or Maximum"),
        (("Metrics", Value::list(["Median"])), "InvalidParameterValue", "UniqueContributors"),
        (("Metrics", "Sum".into()), "MalformedInput", "list"),
        (("StartTime", "soon".into()), "MalformedInput", "2026-11-16"),
        (("RuleName", "r".into()), "ResourceNotFoundException", "DescribeInsightRules"),
        (("RuleName", throttled.into()), "InvalidParameterValue", "--stats on"),
    ] {
        let name = fields.0;
        let failure = run(&Stub, &question([fields])).unwrap_err();
        assert_eq!(failure.code, code, "{name}: {failure:?}");
        assert!(failure.message.contains(says), "{name}: {failure:?}");
    }
    let other = Asked { operation: "PutMetricData".into(), ..input([]) };
    let failure = run(&Stub, &other).unwrap_err();
    assert!(failure.message.contains("GetInsightRuleReport"), "{failure:?}");
}

#[test]
fn rules_are_told_page_by_page() {
    let page = |fields: [(&'static str, Value); 2]| {
        let asked = Asked { operation: "DescribeInsightRules".into(), ..input(fields) };
        let page = run(&Stub, &asked).unwrap();
        serde_json::from_slice::<serde_json::Value>(&json::encode(&page)).unwrap()
    };
    let first = page([("MaxResults", Value::Whole(1)), ("NextToken", Value::Null)]);
    let rule = &first["InsightRules"][0];
    assert_eq!(rule["Name"], "DynamoDBContributorInsights-PKT-u-1700000000000");
    assert_eq!((&rule["State"], &rule["ManagedRule"]), (&"ENABLED".into(), &true.into()));
    let definition: serde_json::Value =
        serde_json::from_str(rule["Definition"].as_str().unwrap()).unwrap();
    assert_eq!(definition["Contribution"]["ValueOf"], "$.ThrottleCount");
    let token = first["NextToken"].as_str().unwrap();
    let rest = page([("MaxResults", Value::Null), ("NextToken", token.into())]);
    assert_eq!(rest["InsightRules"][0]["Name"], RULE);
    assert!(rest.get("NextToken").is_none());
    for (fields, code) in [
        (("NextToken", Value::from("x")), "InvalidNextToken"),
        (("MaxResults", Value::Whole(501)), "InvalidParameterValue"),
    ] {
        let asked = Asked { operation: "DescribeInsightRules".into(), ..input([fields]) };
        assert_eq!(run(&Stub, &asked).unwrap_err().code, code);
    }
}

#[test]
fn a_refusal_has_its_code_where_each_protocol_has_it() {
    let failure = Err(CloudwatchError::value_of("no <good>"));
    for (wire, kind) in [
        (Wire::Cbor, "application/cbor"),
        (Wire::Json, "application/x-amz-json-1.0"),
        (Wire::Query, "text/xml"),
    ] {
        let response = wire.response("GetInsightRuleReport", &failure);
        assert_eq!(response.status(), 400);
        let header = |name: &str| response.headers().get(name).and_then(|text| text.to_str().ok());
        assert_eq!(header("content-type"), Some(kind));
        let code = header("x-amzn-query-error");
        let expected = (wire != Wire::Query).then_some("InvalidParameterValue;Sender");
        assert_eq!(code, expected, "{wire:?}");
        assert_eq!(header("smithy-protocol").is_some(), wire == Wire::Cbor);
    }
    let value = CloudwatchError::value_of("no").value();
    let name = "com.amazonaws.cloudwatch#InvalidParameterValueException";
    assert_eq!(value, Value::record([("__type", name.into()), ("message", "no".into())]));
    let xml = query::encode_error(&CloudwatchError::value_of("no <good>"), "ID");
    let expected = "<ErrorResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">\
         <Error><Type>Sender</Type><Code>InvalidParameterValue</Code>\
         <Message>no &lt;good&gt;</Message></Error><RequestId>ID</RequestId></ErrorResponse>";
    assert_eq!(String::from_utf8(xml).unwrap(), expected);
}

#[test]
fn forms_of_other_services_are_not_ours() {
    for form in [&b"Action=ListQueues&Version=2012-11-05"[..], b"hi", b""] {
        assert!(matches!(query::asked(form), Err(Unanswered::NotOurs)));
    }
    assert!(matches!(query::asked(b"\xff"), Err(Unanswered::Error(_))));
}
