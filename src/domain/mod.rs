//! Plain values that the floors exchange: cases, trials, attempts, outcomes, scores, money.
//!
//! Nothing here does anything but hold, name and check data; whoever reads, sends, stores or counts
//! it stands on a floor above.

mod answer_keeping;
mod aside;
mod attempt;
mod call;
mod case;
mod content;
mod dimension;
mod error_class;
mod event;
mod fault;
mod grader;
mod ids;
mod input;
mod limits;
mod money;
mod outcome;
mod pass_if;
mod position;
mod price;
mod prompt;
mod prompt_cache;
mod question;
mod queue_control;
mod reply;
mod retrieved;
mod score;
mod settlement;
mod shard;
mod shared;
mod tariff;
mod time;
mod trial;
mod usage;
pub mod text;

#[cfg(test)]
pub(crate) use self::event::samples as event_samples;
pub use self::{
    answer_keeping::AnswerKeeping,
    aside::Aside,
    attempt::{Attempt, AttemptEnd},
    call::{Begun, Bounds, Call, Demand, HttpMethod, Outgoing, Purpose, USUAL_OUTPUT_TOKENS, Walk, Wire},
    case::{Case, Examples, SharedSegments, Source, Split},
    content::Content,
    dimension::PerDimension,
    error_class::{ErrorClass, Failure, FailureKind},
    event::{RunEvent, StopReason, TrialEnd},
    fault::{Fault, Faults, nearest},
    grader::GraderSpec,
    ids::{CaseId, Fingerprint, GraderName, ModelId, ProviderName, RunId, TargetName},
    input::{Input, Message, Role},
    limits::{LimitDimension, LimitReading, LimitReport},
    money::{Cost, MoneyError},
    outcome::Outcome,
    pass_if::PassIf,
    position::{AskerPos, CasePos, GraderPos, PricePos, Repeat, RunRow, TargetPos},
    price::{Price, Rates, Tier},
    prompt::Prompt,
    prompt_cache::{CacheLifetime, CachePoint, PromptCache},
    question::{Asked, Parameters, Question},
    queue_control::{ConcurrencyRecord, LiveLimits, PauseRecord, QueueControl, QueueRecord},
    reply::{Reply, ReplyLatency},
    retrieved::{RetrievalScore, Retrieved},
    score::{Score, Verdict},
    settlement::{Settled, Settlement},
    shard::Shard,
    tariff::Tariff,
    time::UnixMillis,
    trial::{AnswerSource, RunStatus, TrialKey, TrialRecord},
    usage::{Metered, Usage, UsageFlag},
};
