//! Gates: thresholds that are written before the result is known, and frozen with the run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::document::{Document, NAME_AN_EXPERIMENT};
use crate::domain::{Faults, nearest};

/// The confidence of a margin or of a lower bound where the experiment does not say: one-sided.
const CONFIDENCE: f64 = 0.95;

/// The gates of an experiment. One that is not set is not judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gates {
    /// No case whose hard graders passed on the baseline fails them on the candidate.
    pub no_new_hard_failures: bool,
    /// The least share of answers that pass all their hard graders.
    pub structural_floor: Option<f64>,
    /// How many cases may break.
    pub flip_budget: Option<FlipBudget>,
    /// The candidate is not worse by this much.
    pub non_inferiority_margin: Option<Margin>,
    /// The least pass rate.
    pub min_pass_rate: Option<MinPassRate>,
    /// The most that an answer may cost on average, in dollars.
    pub max_cost_per_case: Option<f64>,
    /// The longest 95th percentile of the latency, in milliseconds.
    pub max_p95_latency_ms: Option<f64>,
    /// By how much the cost of an answer may rise, as a share of the baseline's.
    pub max_cost_increase: Option<f64>,
    /// Every planned trial is measured.
    pub no_missing: bool,
    /// The file of signed-off flips.
    pub sign_offs: Option<PathBuf>,
}

/// How many cases may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlipBudget {
    /// This many.
    pub count: u32,
    /// Which flips count.
    pub which: CountedFlips,
    /// Whether a flip that fresh answers did not confirm is left out.
    pub confirmed: bool,
}

/// Which flips a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedFlips {
    /// Every case that broke.
    All,
    /// Those that the per-case test finds real.
    Real,
}

/// A non-inferiority margin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// The margin, a share above 0.
    pub margin: f64,
    /// The one-sided confidence.
    pub confidence: f64,
}

/// The least pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MinPassRate {
    /// The rate.
    pub rate: f64,
    /// What is held against it.
    pub on: RateOn,
}

/// What is held against a least pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateOn {
    /// The rate that was measured.
    Point,
    /// Its exact lower bound at 95 % one-sided confidence.
    Lower,
}

impl Gates {
    /// Whether nothing is to be judged.
    pub fn is_empty(&self) -> bool {
        Self { sign_offs: None, ..self.clone() } == Self::default()
    }

    /// The names of the gates that differ between two versions.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (mine, theirs) = (tree(self), tree(other));
        let Value::Object(mine) = mine else { return vec![] };
        mine.into_iter()
            .filter(|(name, value)| name != "sign_offs" && theirs.get(name) != Some(value))
            .map(|(name, _)| name)
            .collect()
    }
}

fn tree(gates: &Gates) -> Value {
    serde_json::to_value(gates).expect("gates are plain data")
}

/// `[gates]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenGates {
    no_new_hard_failures: Option<bool>,
    structural_floor: Option<f64>,
    flip_budget: Option<Value>,
    non_inferiority_margin: Option<Value>,
    min_pass_rate: Option<Value>,
    max_cost_per_case: Option<f64>,
    max_p95_latency_ms: Option<f64>,
    max_cost_increase: Option<f64>,
    no_missing: Option<bool>,
    sign_offs: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBudget {
    count: u32,
    which: Option<CountedFlips>,
    confirmed: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMargin {
    margin: f64,
    confidence: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRate {
    rate: f64,
    on: Option<RateOn>,
}

/// Only the gates of an experiment file; its other keys are not looked at.
#[derive(Debug, Default, Deserialize)]
struct GatesOnly {
    #[serde(default)]
    gates: WrittenGates,
}

/// Reads the gates of an experiment file, whatever else stands in it.
///
/// # Errors
/// Every fault of its `[gates]`; that it has none.
pub fn read_gates(file: &Path) -> Result<Gates, Faults> {
    let document = Document::open(file, NAME_AN_EXPERIMENT)?;
    let (written, mut faults) = document.read::<GatesOnly>();
    if document.tree().get("gates").is_none() {
        let fault = crate::domain::Fault::of_file(file, "there is no `[gates]` in it");
        let known = document.tree().as_object().into_iter().flat_map(|table| table.keys());
        faults.0.push(match nearest("gates", known.map(String::as_str)) {
            Some(near) => fault.with_hint(format!("is `{near}` meant to be `gates`?")),
            None => fault.with_hint("add `[gates]` with, say, `non_inferiority_margin = 0.02`"),
        });
    }
    let gates = meant(&document, written.unwrap_or_default().gates, &mut faults);
    faults.none_or(gates)
}

/// The gates as they are meant; paths are relative to the file.
pub(super) fn meant(document: &Document, written: WrittenGates, faults: &mut Faults) -> Gates {
    let mut checks = Checks { document, faults };
    let WrittenGates { flip_budget, non_inferiority_margin, min_pass_rate, sign_offs, .. } = written;
    Gates {
        no_new_hard_failures: written.no_new_hard_failures.unwrap_or(false),
        structural_floor: checks.share("structural_floor", written.structural_floor),
        flip_budget: checks.budget(flip_budget),
        non_inferiority_margin: checks.margin(non_inferiority_margin),
        min_pass_rate: checks.rate(min_pass_rate),
        max_cost_per_case: checks.above_zero("max_cost_per_case", written.max_cost_per_case),
        max_p95_latency_ms: checks.above_zero("max_p95_latency_ms", written.max_p95_latency_ms),
        max_cost_increase: checks.not_negative("max_cost_increase", written.max_cost_increase),
        no_missing: written.no_missing.unwrap_or(false),
        sign_offs: sign_offs.map(|path| beside(document, &path)),
    }
}

fn beside(document: &Document, path: &Path) -> PathBuf {
    super::document::beside(document.file(), path)
}

struct Checks<'a> {
    document: &'a Document,
    faults: &'a mut Faults,
}

impl Checks<'_> {
    fn fault(&mut self, name: &str, message: String, hint: Option<&str>) {
        let fault = self.document.fault(&format!("gates.{name}"), message);
        self.faults.0.push(match hint {
            Some(hint) => fault.with_hint(hint),
            None => fault,
        });
    }

    /// `value` when it is sound; NaN is never within a range.
    fn within(
        &mut self,
        name: &str,
        value: Option<f64>,
        sound: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Option<f64> {
        let value = value?;
        if sound(value) {
            return Some(value);
        }
        self.fault(name, format!("found {value}, expected {expected}"), share_hint(value, expected));
        None
    }

    fn share(&mut self, name: &str, value: Option<f64>) -> Option<f64> {
        self.within(name, value, |share| (0.0..=1.0).contains(&share), "a share from 0 to 1")
    }

    fn above_zero(&mut self, name: &str, value: Option<f64>) -> Option<f64> {
        self.within(name, value, |value| value > 0.0 && value.is_finite(), "a number above 0")
    }

    fn not_negative(&mut self, name: &str, value: Option<f64>) -> Option<f64> {
        self.within(name, value, |value| value >= 0.0 && value.is_finite(), "a share of at least 0")
    }

    fn confidence(&mut self, name: &str, value: Option<f64>) -> Option<f64> {
        let sound = |value: f64| value > 0.5 && value < 1.0;
        self.within(name, Some(value.unwrap_or(CONFIDENCE)), sound, "a confidence such as 0.95")
    }

    fn budget(&mut self, written: Option<Value>) -> Option<FlipBudget> {
        let written = match written? {
            Value::Number(number) => self.table("flip_budget", serde_json::json!({ "count": number })),
            table => self.table("flip_budget", table),
        };
        let WrittenBudget { count, which, confirmed } = written?;
        Some(FlipBudget {
            count,
            which: which.unwrap_or(CountedFlips::All),
            confirmed: confirmed.unwrap_or(false),
        })
    }

    fn margin(&mut self, written: Option<Value>) -> Option<Margin> {
        const NAME: &str = "non_inferiority_margin";
        let written = match written? {
            Value::Number(number) => self.table(NAME, serde_json::json!({ "margin": number })),
            table => self.table(NAME, table),
        };
        let WrittenMargin { margin, confidence } = written?;
        let confidence = self.confidence(&format!("{NAME}.confidence"), confidence)?;
        if margin < 0.0 {
            let message =
                format!("found {margin}: the margin is how much worse is still acceptable, a share above 0");
            self.fault(NAME, message, Some(&format!("write {}", -margin)));
            return None;
        }
        let sound = |margin: f64| margin > 0.0 && margin < 1.0;
        let margin = self.within(NAME, Some(margin), sound, "a share above 0 and below 1")?;
        Some(Margin { margin, confidence })
    }

    fn rate(&mut self, written: Option<Value>) -> Option<MinPassRate> {
        let written = match written? {
            Value::Number(number) => self.table("min_pass_rate", serde_json::json!({ "rate": number })),
            table => self.table("min_pass_rate", table),
        };
        let WrittenRate { rate, on } = written?;
        let rate = self.share("min_pass_rate", Some(rate))?;
        Some(MinPassRate { rate, on: on.unwrap_or(RateOn::Point) })
    }

    /// A gate that may be a number or a table, as its table.
    fn table<T: DeserializeOwned>(&mut self, name: &str, value: Value) -> Option<T> {
        match serde_path_to_error::deserialize::<_, T>(&value) {
            Ok(table) => Some(table),
            Err(error) => {
                let inner = error.path().to_string();
                let path =
                    if inner == "." { format!("gates.{name}") } else { format!("gates.{name}.{inner}") };
                let fault = self.document.typed_fault(&path, &error.inner().to_string());
                self.faults.0.push(fault);
                None
            }
        }
    }
}

/// What is likely meant by a percentage where a share is expected.
fn share_hint(value: f64, expected: &str) -> Option<&'static str> {
    (expected.contains("share") && value > 1.0 && value <= 100.0).then_some("2 % is written 0.02")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Gates, String> {
        let document = Document::parse(Path::new("config/e.toml"), text).unwrap();
        let (written, mut faults) = document.read::<GatesOnly>();
        let gates = meant(&document, written.unwrap_or_default().gates, &mut faults);
        faults.none_or(gates).map_err(|faults| faults.to_string())
    }

    #[test]
    fn a_gate_is_a_number_or_a_table() {
        let short =
            read("[gates]\nnon_inferiority_margin = 0.02\nflip_budget = 3\nmin_pass_rate = 0.9\n").unwrap();
        assert_eq!(short.non_inferiority_margin, Some(Margin { margin: 0.02, confidence: 0.95 }));
        let budget = FlipBudget { count: 3, which: CountedFlips::All, confirmed: false };
        assert_eq!(short.flip_budget, Some(budget));
        let long = read(
            "[gates]\nnon_inferiority_margin = { margin = 0.02, confidence = 0.9 }\n\
             flip_budget = { count = 0, which = \"real\", confirmed = true }\n\
             min_pass_rate = { rate = 0.9, on = \"lower\" }\nsign_offs = \"s.toml\"\n",
        )
        .unwrap();
        assert_eq!(long.non_inferiority_margin, Some(Margin { margin: 0.02, confidence: 0.9 }));
        let budget = FlipBudget { count: 0, which: CountedFlips::Real, confirmed: true };
        assert_eq!(long.flip_budget, Some(budget));
        assert_eq!(long.min_pass_rate, Some(MinPassRate { rate: 0.9, on: RateOn::Lower }));
        assert_eq!(long.sign_offs, Some(PathBuf::from("config/s.toml")));
        assert_eq!(short.differences(&long), ["flip_budget", "non_inferiority_margin", "min_pass_rate"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_line() {
        for (line, message) in [
            ("non_inferiority_margn = 0.02", "did you mean `non_inferiority_margin`?"),
            ("non_inferiority_margin = -0.02", "write 0.02"),
            ("non_inferiority_margin = 2", "2 % is written 0.02"),
            ("non_inferiority_margin = nan", "e.toml:2"),
            ("structural_floor = nan", "e.toml:2: `gates.structural_floor`: invalid type"),
            ("min_pass_rate = 95", "found 95, expected a share from 0 to 1"),
            ("max_cost_per_case = -1.0", "found -1, expected a number above 0"),
            ("flip_budget = { count = 1, wich = \"real\" }", "did you mean `which`?"),
            ("flip_budget = -1", "e.toml:2"),
        ] {
            let told = read(&format!("[gates]\n{line}\n")).unwrap_err();
            assert!(told.contains(message), "{line}: {told}");
        }
    }
}
