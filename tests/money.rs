//! From a provider's usage to dollars, through the whole program: lifetimes, contradictions, unknowns.

use serde_json::{Value, json};

use crate::support::{Answer, Project, Stub};

/// The number at the end of the question in a request of either dialect.
fn question(body: &Value) -> usize {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// An Anthropic answer with this usage.
fn message(usage: &Value) -> Answer {
    Answer::json(&json!({"type": "message", "model": "m", "stop_reason": "end_turn", "usage": usage,
                         "content": [{"type": "text", "text": "It is right 0."}]}))
}

fn experiment(url: &str, provider: &str, prices: &str) -> String {
    let path = if provider == "openai" { "/v1" } else { "" };
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n\
         [[target]]\nname = \"t\"\nprovider = \"{provider}\"\nmodel = \"m\"\n\
         [provider.{provider}]\nbase_url = \"{url}{path}\"\napi_key_env = \"TEST_KEY\"\n{prices}"
    )
}

/// Dollars per million tokens.
fn prices(rates: &str) -> String {
    format!(
        "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ {rates} }}\n"
    )
}

/// inspect_ai issue 4703 paid an hour's writes at the five-minute rate; langsmith-sdk issue 1858 took
/// reads from a count that never held them.
#[test]
fn every_lifetime_has_its_price_and_contradictions_have_none() {
    let stub = Stub::new(|_, body| {
        let split = |short: u64, long: u64| {
            json!({"input_tokens": 100, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 200,
                   "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
                   "output_tokens": 50})
        };
        message(&match question(body) {
            // $0.00531, $0.004635, and $0.003735 by an assumption.
            0 => split(0, 700),
            1 => split(300, 400),
            2 => json!({"input_tokens": 100, "cache_creation_input_tokens": 700,
                        "cache_read_input_tokens": 200, "output_tokens": 50}),
            // $0.011907.
            3 => json!({"input_tokens": 19, "cache_read_input_tokens": 39_000, "output_tokens": 10}),
            _ => split(3, 4),
        })
    });
    let rates =
        "input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, cache_write_1h = 6.00, output = 15.00";
    let text = experiment(&stub.url(), "anthropic", &prices(rates));
    let project = Project::new().with_cases(5).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!(target["cost_usd"], "0.025587");
    assert_eq!((&target["cost_unknown_trials"], &target["cost_approximate_trials"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&target["usage"]["cache_write_1h"], &target["usage"]["cache_write_5m"]),
        (&json!(1_100), &json!(1_000))
    );
    assert_eq!(target["usage_unknown"], 1);
    assert_eq!(target["cache"]["tokens_read"], 39_600);
    let raw: String = project.sql("SELECT usage_raw FROM trial WHERE usage_flag = 'contradictory'");
    assert!(raw.contains("\"ephemeral_5m_input_tokens\":3"), "{raw}");
    project
        .caseload(&["show"])
        .stdout_has("at least $0.025587; 1 answers unpriced; approximate for 1 answers");
}

/// deepeval pull request 2722: a provider always cost 0 dollars, a typed-in price was dropped.
#[test]
fn an_unknown_price_is_unknown_and_a_typed_one_is_used() {
    let stub = Stub::new(|_, body| {
        let mut answer: Value = serde_json::from_str(&Answer::chat("It is right 0.").body).unwrap();
        answer["usage"] = match question(body) {
            0 => json!({"prompt_tokens": 1_000, "completion_tokens": 500, "total_tokens": 1_500}),
            _ => json!({"prompt_tokens": 100, "completion_tokens": 1,
                        "prompt_tokens_details": {"cached_tokens": 400}}),
        };
        Answer::json(&answer)
    });
    let unpriced = experiment(&stub.url(), "openai", "");
    let project = Project::new().with_cases(2).with("e.toml", &unpriced);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["cost_usd"], &target["cost_unknown_trials"]), (&Value::Null, &json!(2)));
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE cost_picodollars IS NULL"), 2);
    project.caseload(&["show"]).stdout_has("unknown: no price for `m`");

    project.write("e.toml", &experiment(&stub.url(), "openai", &prices("input = 3.00, output = 6.00")));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["cost_usd"], &target["cost_unknown_trials"]), (&json!("0.006"), &json!(1)));
}
