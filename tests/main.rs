//! The integration tests: one binary, one module a subject.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "in a test a panic is the failure's report")]

mod application;
mod architecture;
mod bad_input;
mod ci;
mod caching;
mod compare;
mod coverage;
mod ends;
mod error_rates;
mod estimate;
mod events;
mod field_reports;
mod graders;
mod guards;
mod library;
mod live;
mod money;
mod over_time;
mod promises;
mod readme;
mod runs;
mod stats_reference;
mod store_life;
mod support;
mod weather;

/// An experiment named `test` over `golden.jsonl` with one target on an OpenAI-compatible server;
/// `top` stands among the file's own keys.
fn experiment(url: &str, top: &str) -> String {
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n{top}\n\n[[target]]\nname = \"t\"\nprovider = \"p\"\n\
         model = \"m\"\nmax_tokens = 50\n\n[provider.p]\nkind = \"openai\"\nbase_url = \"{url}/v1\"\n\
         api_key_env = \"TEST_KEY\"\n"
    )
}
