//! Random designs: what the planner makes of their keys, patterns and writes, against requests whose items have the fields
//! that the design declares. Keys of one item that share a field are hot together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keyloom_core::capacity::Units;
use keyloom_core::hash::{SplitMix64, fraction};
use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_simulate::run::run;
use keyloom_simulate::{Spread, Workload};

use crate::server::{Agreement, Asked, MINUTES, measured, options, seeds, value};

/// A field of keys.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) values: usize,
    top: Option<f64>,
}

impl Field {
    fn random(name: &'static str, random: &mut SplitMix64, most: usize) -> Self {
        let values = [1, 3, 12, 100, 400][random.below(5)].min(most);
        let top = random.percent(50).then(|| 0.05 + 0.6 * fraction(random.draw()));
        Self { name, values, top: top.filter(|top| *top > 1.0 / values as f64) }
    }

    pub(crate) fn draw(&self, random: &mut SplitMix64) -> usize {
        match self.top {
            Some(top) if fraction(random.draw()) < top => 0,
            Some(_) => 1 + random.below(self.values - 1),
            None => random.below(self.values),
        }
    }

    fn declared(&self) -> String {
        let top = self.top.map(|top| format!(", top_share = {top}")).unwrap_or_default();
        format!("{} = {{ type = \"token\", distinct = {}{top} }}\n", self.name, self.values)
    }
}

/// A design with what its items are drawn from.
pub(crate) struct Random {
    pub(crate) text: String,
    pub(crate) fields: Vec<Field>,
    /// The templates of its key attributes.
    pub(crate) keys: Vec<(String, String)>,
    has_local: bool,
    /// The places whose sort keys only grow.
    growing: [bool; 3],
}

/// A table with up to two global indexes and perhaps a local one; no field has more values than `most`.
pub(crate) fn random_design(random: &mut SplitMix64, most: usize) -> Random {
    let fields: Vec<Field> = ["a", "b", "c"].map(|name| Field::random(name, random, most)).into();
    let growing = [random.percent(50), random.percent(50), random.percent(50)];
    let has_local = random.percent(20);
    let sort = |grows: bool| if grows { "{event}" } else { "{token}#{event}" };
    let mut tables = String::from("[table.events]\npartition_key = \"PK\"\nsort_key = \"SK\"\n");
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut key = |name: &str, template: &str| keys.push((name.to_owned(), template.to_owned()));
    key("PK", "E#{a}");
    key("SK", sort(growing[0]));
    let indexes = random.below(3);
    for (index, grows) in growing.into_iter().enumerate().skip(1).take(indexes) {
        let own = ["{a}", "{b}", "{c}", "{a}#{b}", "{b}#{c}"][random.below(5)];
        let _ = write!(
            tables,
            "[table.events.index.by{index}]\npartition_key = \"P{index}\"\nsort_key = \"S{index}\"\n"
        );
        key(&format!("P{index}"), &format!("I{index}#{own}"));
        key(&format!("S{index}"), sort(grows));
    }
    if has_local {
        tables +=
            "[table.events.index.local]\nlocal = true\npartition_key = \"PK\"\nsort_key = \"L\"\n";
        key("L", "{token}");
    }
    let mut templates = String::new();
    for (name, template) in &keys {
        let _ = writeln!(templates, "{name} = \"{template}\"");
    }
    let rate = |random: &mut SplitMix64, units: f64, most: f64| {
        let rate = most * fraction(random.draw()) / units;
        format!("rate = \"{rate:.2}/s\"\n")
    };
    let declared: String = fields.iter().map(Field::declared).collect();
    let mut text = format!(
        "{tables}[entity.Event]\n{templates}count = 10_000\nsize = \"19 KB\"\n[entity.Event.fields]\n{declared}\
         event = \"ulid\"\ntoken = \"uuid\"\n[write.write]\nentity = \"Event\"\n{}",
        rate(random, 20.0, 6_000.0)
    );
    let _ = write!(
        text,
        "[access.read]\nfind = \"Event\"\nwhere = \"a = ?\"\nlimit = 20\n{}",
        rate(random, 48.0, 9_000.0)
    );
    if random.percent(50) {
        let _ = write!(
            text,
            "[entity.Config]\nPK = \"CONFIG#{{c}}\"\nSK = \"CONFIG\"\ncount = {}\nsize = \"390 KB\"\n\
             [entity.Config.fields]\n{}[access.config]\nfind = \"Config\"\nwhere = \"c = ?\"\n{}",
            fields[2].values,
            fields[2].declared(),
            rate(random, 49.0, 9_000.0)
        );
    }
    Random { text, fields, keys, has_local, growing }
}

impl Random {
    /// The fields of a key template.
    pub(crate) fn fields_of<'a>(&'a self, spread: &'a Spread) -> impl Iterator<Item = &'a Field> {
        self.fields.iter().filter(|it| spread.label.contains(&format!("{{{}}}", it.name)))
    }
}

/// Which number each value of each key template has, by place and spread: listed ones as the simulator has them, then the others.
pub(crate) struct Ranks(BTreeMap<(usize, usize), BTreeMap<Vec<usize>, usize>>);

impl Ranks {
    pub(crate) fn new(design: &Random, workload: &Workload) -> Self {
        let mut ranks = BTreeMap::new();
        for (place, it) in workload.places.iter().enumerate() {
            for (at, spread) in it.spreads.iter().enumerate() {
                ranks.insert((place, at), numbers(design, spread));
            }
        }
        Self(ranks)
    }

    /// The number of the value that an item with these fields has.
    pub(crate) fn of(
        &self,
        design: &Random,
        at: (usize, usize),
        spread: &Spread,
        drawn: &[usize],
    ) -> usize {
        let fields = design.fields.iter().zip(drawn);
        let own =
            fields.filter(|(field, _)| design.fields_of(spread).any(|it| it.name == field.name));
        let own: Vec<usize> = own.map(|(_, value)| *value).collect();
        self.0[&at][&own]
    }
}

fn numbers(design: &Random, spread: &Spread) -> BTreeMap<Vec<usize>, usize> {
    let mut tuples = vec![Vec::new()];
    for field in design.fields_of(spread) {
        let longer = tuples.iter().flat_map(|tuple: &Vec<usize>| {
            (0..field.values).map(move |value| tuple.iter().copied().chain([value]).collect())
        });
        tuples = longer.collect();
    }
    let known: Vec<&str> = design.fields_of(spread).map(|field| field.name).collect();
    assert!(known.iter().copied().eq(spread.fields.iter().map(|it| it.name.as_str())));
    let mut numbers: BTreeMap<Vec<usize>, usize> =
        spread.ranks.iter().cloned().enumerate().map(|(number, tuple)| (tuple, number)).collect();
    for tuple in tuples {
        let next = numbers.len();
        numbers.entry(tuple).or_insert(next);
    }
    numbers
}

fn compare(seed: u64, agreement: &mut Agreement) {
    let mut random = SplitMix64::new(seed);
    let design = random_design(&mut random, 400);
    let report = check_text("random.toml", &design.text, &Prices::default());
    assert!(report.design.is_some() && report.is_whole, "{}\n{:?}", design.text, report.findings);
    let workload = Workload::of(&report, None);
    assert!(workload.left_out.is_empty(), "{}\n{:?}", design.text, workload.left_out);
    let outcome = run(&workload, 1.0, &options(MINUTES));
    let ranks = Ranks::new(&design, &workload);
    let mut serial = 0u64;
    let real = measured(&workload, design.has_local, &mut random, |flow, random| {
        serial += 1;
        let drawn: Vec<usize> = design.fields.iter().map(|field| field.draw(random)).collect();
        let own = random.draw().to_be_bytes().to_vec();
        let flow = &workload.flows[flow];
        let asked = flow.touches.iter().map(|touch| {
            let spread = &workload.places[touch.place].spreads[touch.spread];
            let rank = ranks.of(&design, (touch.place, touch.spread), spread, &drawn);
            let (value, partition) = value(spread, touch.spread, rank);
            let sort = match flow.name.as_str() {
                "write" if design.growing[touch.place] => serial.to_be_bytes().to_vec(),
                "write" => own.clone(),
                "config" => b"CONFIG".to_vec(),
                // A range: it does not say where.
                _ => Vec::new(),
            };
            let units = Units::halves((touch.units * 2.0).round() as u64);
            Asked { place: touch.place, value, partition, sort, units }
        });
        asked.collect()
    });
    agreement.compare(&format!("design {seed}"), &workload, &outcome, &real);
}

#[test]
fn the_simulator_refuses_of_a_design_what_the_server_would() {
    let mut agreement = Agreement::default();
    seeds().for_each(|seed| compare(seed, &mut agreement));
    agreement.judge("designs");
}
