//! The pages of `docs/rules`, in the binary. The folder `rules` of this crate is a link to them, so that a package of the crate
//! contains them.

macro_rules! pages {
    ($($id:literal)*) => {
        &[$(($id, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $id, ".md")))),*]
    };
}

static PAGES: &[(&str, &str)] = pages! {
    "K01" "K02" "K03" "K04" "K05" "K06" "K07" "K08" "K09" "K10" "K11" "K12" "K13" "K14"
    "P01" "P02" "P03" "P04" "P05" "P06" "P07" "P08" "P09" "P10" "P11" "P12" "P13"
    "I01" "I02" "I03" "I04" "I05" "I06" "I07" "I08" "I09" "I10"
    "A01" "A02" "A03" "A04" "A05" "A06" "A07" "A08" "A09" "A10" "A11" "A12" "A13" "A14"
    "A15"
    "E01" "E02" "E03" "E04" "E05"
    "U01" "U02" "U03" "U04" "U05"
    "T01"
    "W01"
    "D00" "D01" "D02" "D03" "D04" "D05" "D06" "D07"
};

/// The page of a rule or diagnostic code.
pub(crate) fn rule_page(id: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == id).map(|&(_, page)| page)
}

/// The ids of all rules that have a page.
pub(crate) fn rule_ids() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(id, _)| *id)
}
