//! `caseload serve-mock`: the simulator behind HTTP.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, output};
use crate::{
    app::serve_mock::{
        CacheSettings, FaultRates, MockLatency, MockSettings, SimulatedTarget, StreamPace, cases, check,
        key_in, listen as listen_at, serve, shipped_rates,
    },
    domain::{Case, ModelId},
};

/// Serve the simulator over HTTP, speaking Anthropic's and OpenAI's protocols
///
/// To rehearse a run under its real limits and under bad weather, and to test clients. Answers come
/// from a golden set's examples; every draw comes from the seed. `GET /stats` tells what it saw.
#[derive(Debug, Args)]
pub(super) struct ServeMockArgs {
    /// Listen here; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8000", value_name = "ADDRESS")]
    listen: SocketAddr,

    /// Answer this golden set's questions; others get a generic answer
    #[arg(long, value_name = "FILE")]
    golden: Option<PathBuf>,

    /// Draw with this seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Accept only this key; it is read from the environment variable of that name
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,

    /// How often a model is right, 0 to 1
    #[arg(long, default_value_t = 0.8, value_parser = share)]
    skill: f64,

    /// Mean latency in milliseconds
    #[arg(long, default_value_t = 0.0, value_name = "MS")]
    latency_ms: f64,

    /// Spread the latency evenly this far to both sides of its mean, in milliseconds
    #[arg(long, default_value_t = 0.0, value_name = "MS")]
    jitter_ms: f64,

    /// Answer this share of requests with 500
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    error_rate: f64,

    /// Answer this share of requests with 529 (Anthropic) or 503 (OpenAI)
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    overloaded_rate: f64,

    /// Drop this share of connections
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    drop_rate: f64,

    /// Answer this share of requests with a malformed body
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    malformed_rate: f64,

    /// Answer this share of requests with a 429 and `retry-after: 1`
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    rate_limited_rate: f64,

    /// Let this share of answers fall silent, half of them in the middle
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    stall_rate: f64,

    /// End a silence after this many seconds; without it, it lasts until the client goes away
    #[arg(long, value_name = "SECONDS")]
    stall_s: Option<f64>,

    /// Let this share of answers begin late
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    slow_rate: f64,

    /// Begin a late answer this many seconds later
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    slow_s: f64,

    /// Begin a streamed answer after this time; without it, after its whole latency
    #[arg(long, value_name = "MS")]
    first_token_ms: Option<f64>,

    /// Send the events of a stream this far apart, in milliseconds
    #[arg(long, default_value_t = 0.0, value_name = "MS")]
    event_ms: f64,

    /// Cache prompt prefixes; a prefix can be read once the answer that wrote it has begun
    #[arg(long)]
    cache: bool,

    /// Count what answers cost in `GET /stats` by the shipped prices of this model
    #[arg(long, value_name = "MODEL")]
    priced_as: Option<ModelId>,

    /// Allow this many requests a minute; those beyond are answered 429
    #[arg(long, value_name = "N")]
    rpm: Option<f64>,

    /// Allow this many input tokens a minute
    #[arg(long, value_name = "N")]
    itpm: Option<f64>,

    /// Allow this many output tokens a minute
    #[arg(long, value_name = "N")]
    otpm: Option<f64>,

    /// Allow this many input and output tokens together a minute
    #[arg(long, value_name = "N")]
    tpm: Option<f64>,

    /// Debit the most output a request may have when it starts, and give back what it did not use
    #[arg(long)]
    output_reserved: bool,

    /// Leave tokens read from the cache out of the limits
    #[arg(long)]
    cache_reads_free: bool,

    /// Let this many seconds' worth of each limit come at once
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    burst_s: f64,

    /// Tell waits in whole seconds only
    #[arg(long)]
    whole_seconds: bool,

    /// Tell in the limit headers what is left in the bucket instead of in the minute
    #[arg(long)]
    bucket_headers: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("expected a share from 0 to 1".to_owned()) }
}

impl ServeMockArgs {
    fn settings(&self) -> Result<MockSettings, CliError> {
        let settings = MockSettings {
            seed: self.seed,
            api_key: self.api_key_env.as_deref().map(key_in).transpose()?,
            latency: MockLatency { mean_ms: self.latency_ms, jitter_ms: self.jitter_ms },
            faults: FaultRates {
                server_error: self.error_rate,
                overloaded: self.overloaded_rate,
                dropped: self.drop_rate,
                malformed: self.malformed_rate,
                rate_limited: self.rate_limited_rate,
                stalled: self.stall_rate,
                slow: self.slow_rate,
            },
            requests_per_minute: self.rpm,
            input_tokens_per_minute: self.itpm,
            output_tokens_per_minute: self.otpm,
            tokens_per_minute: self.tpm,
            output_reserved: self.output_reserved,
            cache_reads_count: !self.cache_reads_free,
            stall_s: self.stall_s,
            slow_s: self.slow_s,
            stream: StreamPace { first_token_ms: self.first_token_ms, event_ms: self.event_ms },
            price: self.priced_as.as_ref().map(shipped_rates).transpose()?,
            burst_s: self.burst_s,
            whole_seconds: self.whole_seconds,
            bucket_headers: self.bucket_headers,
            model: SimulatedTarget {
                skill: self.skill,
                cache: self.cache.then(CacheSettings::default),
                ..SimulatedTarget::default()
            },
            ..MockSettings::default()
        };
        check(&settings)?;
        Ok(settings)
    }
}

/// Does `caseload serve-mock`: serves until it is interrupted.
pub(super) fn serve_mock(arguments: &ServeMockArgs) -> Result<ExitStatus, CliError> {
    let settings = arguments.settings()?;
    let cases = arguments.golden.as_deref().map(cases).transpose()?.unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(listen_and_serve(arguments.listen, settings, cases))?;
    Ok(ExitStatus::Success)
}

async fn listen_and_serve(
    listen: SocketAddr,
    settings: MockSettings,
    cases: Vec<Arc<Case>>,
) -> Result<(), CliError> {
    let bound = listen_at(listen);
    let listener = bound.map_err(|error| CliError::usage(format!("cannot listen on {listen}: {error}")))?;
    let address = listener.local_addr()?;
    output::data(&format!("http://{address}"))?;
    output::note(&format!(
        "Anthropic: base_url = \"http://{address}\"\nOpenAI:    base_url = \"http://{address}/v1\"\n\
         GET http://{address}/stats tells what it saw; Ctrl-C ends it"
    ));
    let stop = async {
        // Without signals there is only the end of the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Ok(serve(listener, settings, cases, stop).await?)
}
