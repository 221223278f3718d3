//! Enable-, Disable-, Update- and DescribeKinesisStreamingDestination: inputs and outputs.

use keyloom_core::Result;

use crate::parameters::described_table;
use crate::{Constraints, Fields, JsonWriter};

/// How exact the times in records are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// To the millisecond.
    #[default]
    Millisecond,
    /// To the microsecond.
    Microsecond,
}

impl Precision {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Millisecond => "MILLISECOND",
            Self::Microsecond => "MICROSECOND",
        }
    }

    /// The precision of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Millisecond, Self::Microsecond].into_iter().find(|it| it.name() == name)
    }
}

/// The operations that change a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationChange {
    /// EnableKinesisStreamingDestination.
    Enable,
    /// DisableKinesisStreamingDestination.
    Disable,
    /// UpdateKinesisStreamingDestination.
    Update,
}

impl DestinationChange {
    /// The member that holds the settings, in requests and answers.
    fn configuration(self) -> (&'static str, &'static str) {
        match self {
            Self::Enable | Self::Disable => {
                ("EnableKinesisStreamingConfiguration", "enableKinesisStreamingConfiguration")
            }
            Self::Update => {
                ("UpdateKinesisStreamingConfiguration", "updateKinesisStreamingConfiguration")
            }
        }
    }

    /// The status that the answer states.
    fn status(self) -> &'static str {
        match self {
            Self::Enable => "ENABLING",
            Self::Disable => "DISABLING",
            Self::Update => "UPDATING",
        }
    }
}

/// The input of an operation that changes a destination.
#[derive(Clone, Copy, Debug)]
pub struct DestinationInput<'a> {
    change: DestinationChange,
    /// The table, by name or ARN.
    pub table: &'a str,
    /// The ARN of the Kinesis stream.
    pub stream: &'a str,
    /// The precision that the request states.
    pub precision: Option<Precision>,
}

impl<'a> DestinationInput<'a> {
    /// Decodes the input of one of the operations.
    pub fn decode(fields: &Fields<'a>, change: DestinationChange) -> Result<Self> {
        let table = described_table(fields)?;
        let stream = fields.string("StreamArn");
        let mut constraints = Constraints::new();
        constraints.required(stream.is_some(), "streamArn");
        if let Some(stream) = stream {
            constraints.length(stream, "streamArn", 37, 1024);
        }
        let (member, path) = change.configuration();
        let configuration = fields.structure(member);
        let precision = configuration
            .as_ref()
            .and_then(|settings| settings.string("ApproximateCreationDateTimePrecision"));
        let choices =
            [Precision::Millisecond, Precision::Microsecond].map(|choice| (choice.name(), choice));
        let path = format!("{path}.approximateCreationDateTimePrecision");
        let precision = constraints.one_of(precision, &path, &choices);
        constraints.finish()?;
        Ok(Self { change, table, stream: stream.unwrap_or_default(), precision })
    }

    /// The answer: the change is under way.
    pub fn answer(&self, precision: Precision) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.string("TableName", self.table);
        json.string("StreamArn", self.stream);
        json.string("DestinationStatus", self.change.status());
        json.structure(self.change.configuration().0, |json| {
            json.string("ApproximateCreationDateTimePrecision", precision.name());
        });
        json.finish()
    }
}

/// A destination as DescribeKinesisStreamingDestination shows it.
#[derive(Clone, Debug)]
pub struct DestinationDescription {
    /// The ARN of the Kinesis stream.
    pub stream: String,
    /// The status on the wire.
    pub status: &'static str,
    /// What there is to say about it.
    pub description: Option<String>,
    /// How exact the times are.
    pub precision: Precision,
}

/// The output of DescribeKinesisStreamingDestination.
pub fn describe_answer(table: &str, destinations: &[DestinationDescription]) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.string("TableName", table);
    json.list("KinesisDataStreamDestinations", destinations, |json, destination| {
        json.nested(|json| {
            json.string("StreamArn", &destination.stream);
            json.string("DestinationStatus", destination.status);
            json.optional_string(
                "DestinationStatusDescription",
                destination.description.as_deref(),
            );
            let precision = destination.precision.name();
            json.string("ApproximateCreationDateTimePrecision", precision);
        });
    });
    json.finish()
}
