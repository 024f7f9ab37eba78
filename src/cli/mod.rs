//! The command line: arguments, wiring, printing. The only floor that prints.

mod baseline;
mod check;
mod compare;
mod confirm;
mod error;
mod estimate;
mod exit_status;
mod experiment_arguments;
mod export;
mod flaky;
mod grade;
mod help_desk_bot;
mod init;
mod output;
mod pilot;
mod progress;
mod rehearse;
mod resume;
mod run;
mod runs;
mod serve_mock;
mod session;
mod show;
mod signals;
mod steer;
mod store;
mod store_argument;
mod trend;
mod supervise;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use self::{error::CliError, exit_status::ExitStatus};

/// Run a golden set against LLM providers and say honestly which target is better
#[derive(Debug, Parser)]
#[command(name = "caseload", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Tell on stderr what the queues do
    ///
    /// Once for retries, pauses, stops and limits learnt, twice for more. `CASELOAD_LOG` takes a filter such as
    /// `caseload::queue=debug`.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Check(check::CheckArgs),
    Estimate(estimate::EstimateArgs),
    Pilot(pilot::PilotArgs),
    Run(run::RunArgs),
    Resume(resume::ResumeArgs),
    Limits(steer::LimitsArgs),
    /// Start nothing new in a running run until `continue`; what is in flight goes on
    Pause(steer::SteerArgs),
    /// Go on with a running run that was paused
    Continue(steer::SteerArgs),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Compare(compare::CompareArgs),
    Baseline(baseline::BaselineArgs),
    Grade(grade::GradeArgs),
    Export(export::ExportArgs),
    Confirm(confirm::ConfirmArgs),
    Trend(trend::TrendArgs),
    Flaky(flaky::FlakyArgs),
    Rehearse(rehearse::RehearseArgs),
    Store(store::StoreArgs),
    ServeMock(serve_mock::ServeMockArgs),
}

/// Does what the command line asks and gives the exit code.
pub fn main() -> ExitCode {
    if let Some(code) = supervise::if_asked_to().or_else(help_desk_bot::if_asked_to) {
        return code;
    }
    command_line().into()
}

fn command_line() -> ExitStatus {
    let cli = Cli::parse();
    log_to_stderr(cli.verbose);
    fail_beyond_the_file_size_limit();
    let done = match cli.command {
        Command::Init(arguments) => init::init(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Estimate(arguments) => estimate::estimate(&arguments),
        Command::Pilot(arguments) => pilot::pilot(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Resume(arguments) => resume::resume(&arguments),
        Command::Limits(arguments) => steer::limits(&arguments),
        Command::Pause(arguments) => steer::pause(&arguments),
        Command::Continue(arguments) => steer::go_on(&arguments),
        Command::Runs(arguments) => runs::runs(&arguments),
        Command::Show(arguments) => show::show(&arguments),
        Command::Compare(arguments) => compare::compare_sides(&arguments),
        Command::Baseline(arguments) => baseline::baseline(&arguments),
        Command::Grade(arguments) => grade::grade(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Confirm(arguments) => confirm::confirm(&arguments),
        Command::Trend(arguments) => trend::trend(&arguments),
        Command::Flaky(arguments) => flaky::flaky(&arguments),
        Command::Rehearse(arguments) => rehearse::rehearse(&arguments),
        Command::Store(arguments) => store::store(&arguments),
        Command::ServeMock(arguments) => serve_mock::serve_mock(&arguments),
    };
    match done {
        Ok(status) => status,
        Err(error) if error.is_broken_pipe() => ExitStatus::Success,
        Err(error) => {
            output::note(&error.message());
            error.exit_status()
        }
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail as one on a full disk does. Unheeded,
/// the signal that comes with it would end the process, and answers that were paid with it.
#[cfg(unix)]
fn fail_beyond_the_file_size_limit() {
    use tokio::{
        runtime::Builder,
        signal::unix::{SignalKind, signal},
    };
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    // Whoever listens once has it caught for as long as the process lives. Where that cannot be, the
    // signal ends the process, as it would any.
    let _ = Builder::new_current_thread().enable_io().build().map(|runtime| {
        let _entered = runtime.enter();
        signal(kind).map(drop)
    });
}

#[cfg(not(unix))]
fn fail_beyond_the_file_size_limit() {}

fn log_to_stderr(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    let default = match verbose {
        0 => "off",
        1 => "caseload=info",
        _ => "caseload=debug",
    };
    let filter = EnvFilter::try_from_env("CASELOAD_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // A second subscriber (in tests) is refused, and the first goes on.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
